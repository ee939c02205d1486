/* pass.h - what an analysis is.
 *
 * One name, one line: a pass's id is its file (src/passes/ID.c), its symbol
 * (nsx_pass_ID), its query (queries/ID.sql, more of them ID__PART.sql), its
 * golden folder
 * (tests/golden/ID/) and its JSON key; a line NSX_PASS(ID) in
 * src/passes/registry.def makes it exist.
 *
 * Passes run side by side: a pass reads the trace and the facts, both const,
 * and writes only its own section, and for the detectors (src/detect), which
 * follow, what it measured that decides a finding.  Summaries come when all is
 * found and ranked, one at a time in registry order, each after the sections it shows.
 */
#ifndef NSX_PASS_H
#define NSX_PASS_H

#include "detect/measured.h"
#include "facts/facts.h"
#include "report/opts.h"
#include "schema/query.h"
#include "report/report.h"

struct nsx_run {
	const struct nsx_trace *trace;
	const struct nsx_facts *facts;
	const struct nsx_opts *opts;
	struct nsx_measured *measured; /* for detectors: a pass writes only
					  what is its own; NULL but for those
					  that say that they measure         */
	struct nsx_arena *scratch; /* freed after this pass                  */
};

#define NSX_NEED_VIEW(v) (1 + NSX_VIEW_##v)
#define NSX_NEED(f) (-1 - NSX_F_##f)
#define NSX_GPU_WORK                                                          \
	NSX_NEED_VIEW(kernel), NSX_NEED_VIEW(memcpy), NSX_NEED_VIEW(memset),  \
		NSX_NEED_VIEW(graph)

#define NSX_LAYOUTS(a) .layouts = a, .nlayouts = ARRAY_LEN(a)
#define NSX_DEFINE_PASS(name)                                                 \
	extern const struct nsx_pass nsx_pass_##name;                         \
	const struct nsx_pass nsx_pass_##name =

extern const struct nsx_pass *const nsx_passes[];
extern const unsigned nsx_npasses;
const struct nsx_pass *nsx_pass_find(const char *id); /* NULL: none */

/* What of its needs this file lacks, by name; NULL: nothing. */
const char *nsx_pass_missing(const struct nsx_pass *pass,
			     const struct nsx_schema *s, struct nsx_arena *a);
/* The same, and what it finds out for itself: a table of several that would do,
 * an option. What rows say is not known before they are read.
 */
const char *nsx_pass_lacks(const struct nsx_pass *pass,
			   const struct nsx_schema *s, struct nsx_arena *a);
/* What its i-th table looks like; NULL: no more. */
const struct nsx_layout *nsx_pass_layout(const struct nsx_pass *pass,
					 unsigned i);
/* Its i-th query: queries/ID.sql, then queries/ID__PART.sql; NULL: no more. */
const struct nsx_query *nsx_pass_query(const struct nsx_pass *pass,
				       unsigned i);

/* A report of the trace at opts->path: opens and loads it, builds facts, runs
 * the passes.  It holds all that questions need: the report, its trace and its
 * facts are const from now on, so that threads may read it side by side, and it
 * depends on no other.  nsx_db_has_changed(r->trace->schema->db) says whether
 * the file is still the one that was read.  Owner: the caller, nsx_report_free;
 * borrows what opts points at, but neither path nor window.
 */
int nsx_report_open(const struct nsx_opts *opts, struct nsx_report **ret,
		    struct nsx_err *err) NSX_CHECKED;
/* The same of a schema that is open, and outlives the report. */
int nsx_report_make(const struct nsx_schema *schema,
		    const struct nsx_opts *opts, struct nsx_report **ret,
		    struct nsx_err *err) NSX_CHECKED;
/* The same of a trace that is loaded, and outlives the report. */
int nsx_run_passes(const struct nsx_trace *trace, const struct nsx_opts *opts,
		   struct nsx_report **ret, struct nsx_err *err);
void nsx_report_free(struct nsx_report *r); /* NULL is fine */

#endif
