/* pass.h - analyses and how they run.
 *
 * A pass has one name: its id is its file (src/passes/FOLDER/ID.c), its symbol (nsx_pass_ID), its
 * query (queries/FOLDER/ID.sql, further ones ID__PART.sql), its golden folder (tests/golden/ID/)
 * and its JSON key. A line NSX_PASS(ID) in src/passes/registry.def adds it.
 *
 * Analyses run side by side. Each reads the trace and the facts, both const, and writes only its
 * own section and, for the detectors (src/detect) that follow, measurements that decide a finding.
 * Summaries run when all findings are ranked. One that replays runs first and alone, as the
 * replay's model is freed afterwards. The others run one at a time in registry order, each after
 * the sections it shows, while analyses finish their rest beside them. The verdict runs last.
 */
#pragma once

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
	struct nsx_measured *measured; /* for detectors: a pass writes only its own part;
					  NULL unless the pass declares that it measures */
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
#define NSX_LAYOUT(a) .layouts = &(a), .nlayouts = 1
/* Defines an analysis, computed by ID_run() of its file, or a summary, by ID_summarise(). */
#define NSX_DEFINE_PASS(name, ...)                                            \
	const struct nsx_pass nsx_pass_##name = {.id = #name, .run = name##_run, \
						 __VA_ARGS__}
#define NSX_DEFINE_SUMMARY(name, ...)                                         \
	const struct nsx_pass nsx_pass_##name = {                             \
		.id = #name, .summarise = name##_summarise, __VA_ARGS__}

#define NSX_PASS(id) extern const struct nsx_pass nsx_pass_##id;
#include "passes/registry.def"
#undef NSX_PASS
extern const struct nsx_pass *const nsx_passes[];
extern const unsigned nsx_npasses;
const struct nsx_pass *nsx_pass_find(const char *id); /* NULL: none */
const char *nsx_pass_nearest(const char *id); /* the most similar id; NULL: none */

/* Names the views and fields that the pass needs and this file lacks; NULL: none. */
const char *nsx_pass_missing(const struct nsx_pass *pass,
			     const struct nsx_schema *s, struct nsx_arena *a);
/* Like nsx_pass_missing, but also runs the checks of the pass itself: whether one of several
 * tables exists, or whether an option is set. The contents of rows are not checked.
 */
const char *nsx_pass_lacks(const struct nsx_pass *pass,
			   const struct nsx_schema *s, struct nsx_arena *a);
/* The layout of the pass's i-th table; NULL at the end. */
const struct nsx_layout *nsx_pass_layout(const struct nsx_pass *pass, unsigned i);
/* The pass's i-th query: ID.sql, then ID__PART.sql; NULL at the end. */
const struct nsx_query *nsx_pass_query(const struct nsx_pass *pass, unsigned i);

/* Frees the sums of a pass. *sums must begin with its struct nsx_groups, followed by the values of
 * nsx_group_value. For NSX_AT_EXIT.
 */
void nsx_sums_done(void *sums);

/* The part of a call or of an NVTX range inside the window. */
static inline int64_t nsx_call_inside(const struct nsx_trace *t, size_t call)
{
	return nsx_in_window(t, nsx_call_start(&t->calls, call), nsx_call_end(&t->calls, call));
}
static inline int64_t nsx_range_inside(const struct nsx_trace *t, size_t range)
{
	return nsx_in_window(t, nsx_range_start(&t->nvtx, range), nsx_range_end(&t->nvtx, range));
}

/* Cells that many tables use. They are null for an unknown process, and for the mean or share of
 * nothing.
 */
/* A number or an index; NSX_NONE becomes null. */
static inline struct nsx_cell nsx_known_cell(uint32_t v)
{
	return v == NSX_NONE ? nsx_null() : nsx_int(v);
}
/* A text of the trace or of the facts; 0 becomes null. */
static inline struct nsx_cell nsx_text_cell(const struct nsx_trace *t, nsx_str s)
{
	return nsx_string(s ? nsx_text(t, s) : NULL);
}
static inline struct nsx_cell nsx_fact_cell(const struct nsx_facts *f, nsx_str s)
{
	return nsx_string(s ? nsx_fact_text(f, s) : NULL);
}
/* A text of the trace, for the row added last. */
static inline struct nsx_cell nsx_name_cell(const struct nsx_trace *t,
					    struct nsx_table *table, nsx_str s)
{
	return nsx_row_string(table, t->strings, s);
}
/* The parts of a global thread or process id. */
static inline struct nsx_cell nsx_global_pid(const struct nsx_trace *t, uint64_t id)
{
	uint32_t process = nsx_process_find(t, nsx_process_key(id));

	return process == NSX_NONE ? nsx_int(nsx_pid_of(id)) : nsx_pid_cell(t, process);
}
/* The cell of the device that a process means by an ordinal. */
static inline struct nsx_cell nsx_ordinal_cell(const struct nsx_trace *t, uint64_t process,
					       int64_t device_id)
{
	uint32_t device = nsx_device_find(t, process, device_id);

	return device == NSX_NONE ? nsx_int(device_id) : nsx_device_cell(t, device);
}
/* The cell of a GPU that was sampled, and a text to print after the word GPU: its number unless
 * several devices have this ordinal.
 */
static inline struct nsx_cell nsx_sampled_cell(const struct nsx_trace *t,
					       uint32_t device, int64_t number)
{
	return nsx_is_ordinal_shared(t, device) ? nsx_device_cell(t, device) :
	       number < 0 ? nsx_null() : nsx_int(number);
}
static inline const char *nsx_sampled_label(struct nsx_section *out, const struct nsx_trace *t,
					    uint32_t device, int64_t number)
{
	return nsx_is_ordinal_shared(t, device) ? nsx_gpu_label(t, device) :
	       nsx_say(out, "%lld", (long long)number);
}
static inline struct nsx_cell nsx_global_tid(uint64_t id)
{
	return nsx_int(nsx_tid_of(id));
}
/* Whether a thread launches GPU work. */
static inline struct nsx_cell nsx_launches_cell(const struct nsx_trace *t, uint64_t global_tid)
{
	uint32_t thread = nsx_thread_find(t, global_tid);

	return nsx_bool(thread != NSX_NONE && t->thread[thread].launches);
}
static inline struct nsx_cell nsx_mean_us(int64_t sum_ns, int64_t n)
{
	return nsx_us(n ? (double)sum_ns / (double)n : NAN);
}
static inline struct nsx_cell nsx_part_pct(int64_t part, int64_t whole)
{
	return nsx_pct((double)part, (double)whole);
}

/* Makes a report of the trace at opts->path: opens and loads it, builds facts, runs the
 * passes. The report, its trace and its facts are const afterwards, so threads may read it
 * side by side, and questions need nothing else. nsx_db_has_changed(r->trace->schema->db)
 * tells whether the file has changed since. Owner: the caller, nsx_report_free; borrows
 * what opts points to, except path and window.
 */
int nsx_report_open(const struct nsx_opts *opts, struct nsx_report **ret,
		    struct nsx_err *err) NSX_CHECKED;
/* Like nsx_report_open, but of an open schema, which must outlive the report. */
int nsx_report_make(const struct nsx_schema *schema,
		    const struct nsx_opts *opts, struct nsx_report **ret,
		    struct nsx_err *err) NSX_CHECKED;
void nsx_report_free(struct nsx_report *r); /* NULL is fine */
