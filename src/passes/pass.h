/* pass.h - what an analysis is.
 *
 * One name, one line: a pass's id is its file (src/passes/FOLDER/ID.c), its symbol
 * (nsx_pass_ID), its query (queries/FOLDER/ID.sql, more of them ID__PART.sql), its
 * golden folder (tests/golden/ID/) and its JSON key; a line NSX_PASS(ID) in
 * src/passes/registry.def makes it exist.
 *
 * Passes run side by side: a pass reads the trace and the facts, both const,
 * and writes only its own section, and for the detectors (src/detect), which
 * follow, what it measured that decides a finding.  Summaries come when all is
 * found and ranked: one that replays first, alone, as the replay's model then goes;
 * the others one at a time in registry order, each after the sections it shows, but
 * beside the rest of analyses that have one; the verdict last.
 */
#ifndef NSX_PASS_H
#define NSX_PASS_H

#include "base/group.h"
#include "base/stat.h"
#include "detect/measured.h"
#include "facts/facts.h"
#include "report/opts.h"
#include "schema/query.h"
#include "report/report.h"
#include "report/words.h"

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

#define NSX_KERNELS_BY_RANGE                                                  \
	NSX_NEED_VIEW(nvtx), NSX_NEED_VIEW(kernel), NSX_NEED_VIEW(runtime),   \
		NSX_NEED(kernel_corr), NSX_NEED(runtime_corr)

#define NSX_LAYOUTS(a) .layouts = a, .nlayouts = ARRAY_LEN(a)
/* An analysis, computed by run() of its file, and a summary, by summarise(). */
#define NSX_DEFINE_PASS(name, ...)                                            \
	extern const struct nsx_pass nsx_pass_##name;                         \
	const struct nsx_pass nsx_pass_##name = {.id = #name, .run = run,     \
						 __VA_ARGS__}
#define NSX_DEFINE_SUMMARY(name, ...)                                         \
	extern const struct nsx_pass nsx_pass_##name;                         \
	const struct nsx_pass nsx_pass_##name = {                             \
		.id = #name, .summarise = summarise, __VA_ARGS__}

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
/* Its i-th query: ID.sql, then ID__PART.sql; NULL: no more. */
const struct nsx_query *nsx_pass_query(const struct nsx_pass *pass,
				       unsigned i);

/* What of a call or of an NVTX range lies in the window. */
static inline int64_t nsx_call_inside(const struct nsx_trace *t, size_t call)
{
	return nsx_in_window(t, nsx_call_start(&t->calls, call),
			     nsx_call_end(&t->calls, call));
}
static inline int64_t nsx_range_inside(const struct nsx_trace *t, size_t range)
{
	return nsx_in_window(t, nsx_range_start(&t->nvtx, range),
			     nsx_range_end(&t->nvtx, range));
}

/* Cells that many tables have: null for a process or a device that is not known,
 * for a mean of nothing and a share of nothing.
 */
static inline struct nsx_cell nsx_pid_cell(const struct nsx_trace *t,
					   uint32_t process)
{
	return process == NSX_NONE ? nsx_null() :
				     nsx_int(t->process[process].pid);
}
static inline struct nsx_cell nsx_device_cell(const struct nsx_trace *t,
					      uint32_t device)
{
	return device == NSX_NONE ? nsx_null() :
				    nsx_int(t->device[device].device_id);
}
/* A number or an index; null: NSX_NONE. */
static inline struct nsx_cell nsx_known_cell(uint32_t v)
{
	return v == NSX_NONE ? nsx_null() : nsx_int(v);
}
/* A text of the trace, or one that the facts made; null: 0. */
static inline struct nsx_cell nsx_text_cell(const struct nsx_trace *t,
					    nsx_str s)
{
	return nsx_string(s ? nsx_text(t, s) : NULL);
}
static inline struct nsx_cell nsx_fact_cell(const struct nsx_facts *f,
					    nsx_str s)
{
	return nsx_string(s ? nsx_fact_text(f, s) : NULL);
}
/* A text of the trace in the row that was added last. */
static inline struct nsx_cell nsx_name_cell(const struct nsx_trace *t,
					    struct nsx_table *table, nsx_str s)
{
	return nsx_row_string(table, t->strings, s);
}
/* What a global thread or process id tells. */
static inline struct nsx_cell nsx_global_pid(uint64_t id)
{
	return nsx_int(nsx_pid_of(id));
}
static inline struct nsx_cell nsx_global_tid(uint64_t id)
{
	return nsx_int(nsx_tid_of(id));
}
static inline struct nsx_cell nsx_mean_us(int64_t sum_ns, int64_t n)
{
	return nsx_us(n ? (double)sum_ns / (double)n : NAN);
}
static inline struct nsx_cell nsx_part_pct(int64_t part, int64_t whole)
{
	return nsx_pct((double)part, (double)whole);
}

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
void nsx_report_free(struct nsx_report *r); /* NULL is fine */

#endif
