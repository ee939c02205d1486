/* measured.h - what sections measure, beyond the facts, to decide findings.
 *
 * Each member is filled by one section and read by detectors, which run after all sections. It
 * stays zeroed if the section could not tell. Strings and spans belong to the section and live
 * as long as the report.
 */
#ifndef NSX_MEASURED_H
#define NSX_MEASURED_H

#include "facts/ledger.h"
#include "report/finding.h"

/* Communication of a device in the judged window. */
struct nsx_comm_cost {
	int64_t comm_ns, exposed_ns;
	int64_t blocking_ns; /* exposed, and compute waited for it           */
	int64_t waited_ns;   /* waiting for ranks that came later, exposed or not */
	const char *waits_in, *waits_most; /* operation and rank with most of it; NULL: none */
	struct nsx_spans blocking; /* in the whole trace, without waits for a proved straggler */
};

/* A late rank is named only if chance hardly explains it and it costs something. */
#define NSX_LATE_P 0.01
#define NSX_LATE_SHARE 0.01 /* least induced waiting, as a share of the window */
enum { NSX_LATE_LEAST = 10 }; /* instances                                  */
#define NSX_LATE_RULE \
	"one is named where p < 0.01 in 10 instances or more, and it costs 1 %% of the " \
	"window" /* a format */

enum nsx_late_by { /* what the late rank spends more time on                 */
	NSX_LATE_BY_NONE, NSX_LATE_BY_WORK, NSX_LATE_BY_COPIES, NSX_LATE_BY_HOST,
};

/* How the ranks arrive at the collectives of one operation. */
struct nsx_arrivals {
	const char *op, *late; /* late: the rank that costs most             */
	uint32_t process, device; /* of the late rank                        */
	bool is_proved; /* a persistent straggler was proved                 */
	bool is_passed_on; /* passed from rank to rank: the last to arrive need not be slow */
	size_t njudged; /* instances judged                                  */
	size_t nlate;	/* of these, instances with any late rank ...        */
	size_t nlast;	/* ... and those in which it is `late`               */
	double p_value; /* probability that chance alone explains nlast      */
	int64_t least_late_ns; /* what counts as late                        */
	double wait_ns;	    /* the other ranks' median wait in those nlast   */
	double all_wait_ns; /* waiting in the whole trace                    */
	int64_t transfer_ns;
	const char *cause; /* NULL: no single cause                          */
	double cause_share;
	enum nsx_late_by by;
	struct nsx_comm_wait { /* waits of the other ranks if is_proved      */
		uint32_t device;
		struct nsx_spans spans;
	} *waits;
	size_t nwaits;
	struct nsx_arrivals *next;
};

/* A check of the capture: it is fine, or it limits the report's conclusions. */
struct nsx_capture_check {
	const char *detail;
	const char *title;
	enum nsx_finding_id id;
	enum nsx_severity severity;
	const char *subject; /* what it is about; NULL: the only check of its kind */
	const char *advice;
	struct nsx_capture_check *next;
};

struct nsx_measured {
	struct nsx_ledger ledger; /* of the judged window; total_ns 0: not known */
	struct nsx_ledger *phases; /* by phase; total_ns 0: judged or too short; NULL: no phases */
	struct nsx_capture_check *capture; /* a list; NULL: nothing to tell  */
	int64_t session_ns; /* length of the recording; 0: not known         */
	struct { /* kernels of the window */
		bool is_storm;
		double per_s, median_ns;
		int64_t bound_ns; /* time spent waiting for late launches; -1: not known */
	} storm;
	struct { /* launch calls */
		int64_t ns, held_ns; /* held_ns: in which the queue was full */
		bool is_inferred;    /* held_ns is inferred                  */
	} launches;
	struct { /* compute kernels of the device with most time in small grids */
		uint32_t device;
		int64_t ns, small_ns; /* ns: kernels of known grid size      */
	} grids;
	struct { /* the thread that was longest on a CPU */
		const char *name; /* NULL: none                              */
		int64_t tid;
		double on_ms, others_ms, of_ms; /* of_ms: length that both are of; 0: not known */
	} busiest;
	struct nsx_comm_cost *comm; /* by device; NULL: no device communicates */
	const struct nsx_comm_cost *worst_comm; /* most exposed; NULL: none  */
	struct nsx_arrivals *arrivals; /* a list; NULL: none are judged      */
	struct nsx_link { /* NVLink of a GPU that is neither full nor waited for */
		int64_t device_id;
		const char *name;
		double mean, p95; /* percent of its peak                     */
	} *links;
	size_t nlinks;
};

/* From the first event to the last, including library calls and samples. */
struct nsx_window nsx_recorded(const struct nsx_trace *t);
/* Length of that; or of the threads' scheduling records, if longer; or of the session if there
 * are no events.
 */
int64_t nsx_recorded_ns(const struct nsx_trace *t, const struct nsx_measured *m);

#endif
