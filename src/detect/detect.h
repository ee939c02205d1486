/* detect.h - what costs time is looked for always, whatever sections are shown.
 *
 * A detector is a file of this folder for a family of findings, listed in
 * detect.def: it reads the trace and the facts, both const, and adds what it
 * found, and what it checked and found fine, to a list of its own.  Then all of
 * it is priced and ranked.
 */
#ifndef NSX_DETECT_H
#define NSX_DETECT_H

#include "facts/facts.h"
#include "report/finding.h"
#include "report/opts.h"

struct nsx_detect {
	const struct nsx_trace *trace;
	const struct nsx_facts *facts;
	const struct nsx_opts *opts;
	struct nsx_findings *found;
	struct nsx_arena *scratch; /* freed after this detector              */
};

/* Prices what was found on the judged window, joins what is the same on several
 * GPUs, and puts the list into the order of the report.
 */
int nsx_rank_findings(const struct nsx_trace *t, const struct nsx_facts *f,
		      struct nsx_findings *l, struct nsx_err *err) NSX_CHECKED;

#endif
