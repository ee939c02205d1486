/* profiler.h - the profiler's overhead: the rows it wrote about itself, and the CUDA overhead rows
 * that tools cause (buffer flush, instrumentation, resources). There are few rows.
 */
#pragma once

#include "facts/facts.h"

struct nsx_profiler_row {
	uint64_t thread; /* global id                                        */
	int64_t start_ns, end_ns;
	int64_t id; /* string id of its name; negative: a CUPTI overhead type, negated */
	const char *name;
	int64_t in_window_ns; /* time in the window in use           */
};
struct nsx_profiler {
	struct nsx_profiler_row *v; /* the profiler's rows, then CUPTI's; by name */
	size_t n, defects;   /* defects: rows without valid start and end    */
	int64_t most_lost_ns; /* the longest time that one thread lost in the window in use */
	double most_lost_pct; /* most_lost_ns in percent of the window       */
	struct nsx_spans *of_thread; /* for each thread of the trace: when it was held up */
};

/* The part of a thread's span in which the profiler held it up; 0 if that is not known. */
int64_t nsx_profiled_ns(const struct nsx_facts *f, uint32_t thread, struct nsx_span in);

/* Whether x and y have the same name and kind. */
bool nsx_same_profiler_row(const struct nsx_profiler_row *x, const struct nsx_profiler_row *y);

/* Reads the rows once. f->profiler stays NULL if the trace has neither table, or the options leave
 * out samples. Owner: the arena.
 */
int nsx_facts_profiler(struct nsx_facts *f, const struct nsx_trace *t,
		       const struct nsx_facts_opts *o, struct nsx_arena *a,
		       struct nsx_err *err) NSX_CHECKED;
