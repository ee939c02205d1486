/* timeline.h - what the HTML page draws: an overview of each GPU, and events in lanes.
 *
 * Times are nanoseconds after origin_ns. Every trace gets the overview. All events are
 * drawn if they are few enough, else those of the windows that matter (`detail`).
 */
#pragma once

#include "facts/facts.h"
#include "report/report.h"

enum { NSX_OVERVIEW_BINS = 2048, NSX_MAX_LANES = 96 };

enum nsx_event_class { /* how an event is drawn */
	NSX_EV_COMPUTE, NSX_EV_COMM, NSX_EV_COPY, NSX_EV_RANGE, NSX_EV_LAUNCH,
	NSX_EV_WAIT, NSX_EV_CALL,
	NSX_NEV
};
extern const char *const nsx_event_class_names[NSX_NEV];

struct nsx_lane_events {
	uint32_t device; /* index; NSX_NONE for a host thread                */
	const char *label;
	size_t n;	 /* number of events                                 */
	int64_t last_ns; /* start of the last event                          */
	/* Columns of numbers by event: start, as the distance from the event before it (the first:
	 * from origin_ns); length; index of the name.
	 */
	struct nsx_buf start, length, name;
};
struct nsx_event_name {
	const char *text; /* NULL: the label of `kernel` (nsx_event_text)    */
	enum nsx_event_class cls;
	nsx_str kernel;
};
struct nsx_timeline {
	int64_t origin_ns, end_ns; /* the window in use                      */
	/* by device, bin and class of nsx_partition: the share of the bin in 1/255, rounded up
	 * to 1
	 */
	uint8_t *overview;
	struct nsx_lane_events *lanes;
	size_t nlanes, hidden; /* hidden: streams and threads above the limit */
	struct nsx_event_name *names;
	size_t nnames, cap_names;
	/* the windows whose events are drawn; ndetail 0: the whole window */
	struct nsx_window *detail;
	size_t ndetail;
	size_t nevents;
	struct nsx_spans *places; /* by finding of the report                */
	struct nsx_arena *arena;
};
/* The text to show for names[i]. */
const char *nsx_event_text(const struct nsx_report *r, const struct nsx_timeline *t, size_t i);

/* Computes, by NVTX range, the hull of the work that it and the ranges in it launched on a device;
 * start > end: none.
 */
void nsx_range_hulls(const struct nsx_trace *t, const struct nsx_nvtx_facts *f, uint32_t device,
		     struct nsx_window *hull);

/* The spans in which a finding costs time or, without these, the spans that its remedy would
 * change: the longest ones inside w, longest first. Errors: NSX_E_NOMEM.
 */
enum { NSX_MAX_PLACES = 200 };
int nsx_finding_places(const struct nsx_report *r, const struct nsx_finding *f,
		       const struct nsx_window *w, struct nsx_arena *a,
		       struct nsx_spans *ret, struct nsx_err *err) NSX_CHECKED;

/* Builds the timeline with at most max_events events. Owner: the caller, nsx_timeline_free.
 * Errors: NSX_E_NOMEM, NSX_E_STOP.
 */
int nsx_timeline_build(const struct nsx_report *r, size_t max_events, struct nsx_timeline **ret,
		       struct nsx_err *err) NSX_CHECKED;
void nsx_timeline_free(struct nsx_timeline *t); /* NULL is fine */
