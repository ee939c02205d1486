/* profiler.h - what the profiler itself cost the program: the profiler's own
 * rows, and those of CUDA's overheads that tools cause (buffer flush,
 * instrumentation, resources).  The rows are few.
 */
#ifndef NSX_FACTS_PROFILER_H
#define NSX_FACTS_PROFILER_H

#include "facts/facts.h"

struct nsx_profiler_row {
	uint64_t thread; /* serialised id                                    */
	int64_t start_ns, end_ns;
	int64_t id; /* string id of its name; negative: minus CUPTI's type   */
	const char *name;
	int64_t in_window_ns; /* its part in the window in force     */
};
struct nsx_profiler {
	struct nsx_profiler_row *v; /* the profiler's, then CUPTI's; by name */
	size_t n, defects;   /* defects: rows without a sound start and end  */
	int64_t most_lost_ns; /* by one thread inside the window in force    */
	double most_lost_pct; /* of the window                               */
};

/* Whether the name and the kind of x and y are the same. */
bool nsx_same_profiler_row(const struct nsx_profiler_row *x,
			   const struct nsx_profiler_row *y);

/* Reads the rows once; f->profiler stays NULL where the trace has neither
 * table; what it holds is the arena's.
 */
int nsx_facts_profiler(struct nsx_facts *f, const struct nsx_trace *t,
		       struct nsx_arena *a, struct nsx_err *err) NSX_CHECKED;

#endif
