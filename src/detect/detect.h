/* detect.h - what costs time is looked for always, whatever sections are shown.
 *
 * A detector is a file of this folder for a family of findings, listed in
 * detect.def: nsx_detect_NAME reads the trace and the facts, both const, and
 * adds what it found, and what it checked and found fine, to a list of its own.
 * It proposes generously: for each thing that could be otherwise a remedy to
 * replay.  Then all are priced, what wins nothing is dropped, and the rest is
 * ranked.
 */
#ifndef NSX_DETECT_H
#define NSX_DETECT_H

#include "facts/facts.h"
#include "report/finding.h"
#include "report/opts.h"

struct nsx_detect {
	const struct nsx_trace *trace;
	const struct nsx_facts *facts;
	struct nsx_findings *found;
	struct nsx_window w;	   /* judged                                 */
	bool is_pytorch;	   /* seen in the trace                      */
	struct nsx_arena *scratch; /* freed after this detector              */
};

#define NSX_DETECTOR(name)                                                    \
	int nsx_detect_##name(struct nsx_detect *d, struct nsx_err *err);
#include "detect/detect.def"
#undef NSX_DETECTOR

/* Adds what all detectors find to l.  Errors: NSX_E_NOMEM, NSX_E_STOP. */
int nsx_detect(const struct nsx_trace *t, const struct nsx_facts *f,
	       struct nsx_findings *l, struct nsx_err *err) NSX_CHECKED;

/* Prices what was found on the judged window by replaying the remedies, joins
 * what wins the same time, and puts the list into the order of the report.
 */
int nsx_rank_findings(const struct nsx_facts *f, unsigned threads,
		      struct nsx_findings *l, struct nsx_err *err) NSX_CHECKED;

/* What detectors share -------------------------------------------------------*/

/* "outer > inner": the ranges around one, the last three of them, with numbers
 * that count left out ("step #"); NULL for NSX_NONE.
 */
const char *nsx_range_path(struct nsx_detect *d, uint32_t range);
/* The same for ranges whose names differ in numbers that count only. */
uint64_t nsx_range_kind(const struct nsx_trace *t, uint32_t range);
/* Idle time of the limiting GPU in the judged window, by cause. */
void nsx_idle_by_cause(const struct nsx_detect *d, int64_t ns[NSX_NCAUSES]);
/* A plan of one change, on the list's arena. */
struct nsx_plan nsx_plan_of(struct nsx_detect *d, struct nsx_change change);

#endif
