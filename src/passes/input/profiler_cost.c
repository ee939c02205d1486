/* profiler_cost.c - the profiler's own overhead, by kind. */
#include "facts/profiler.h"
#include "passes/pass.h"

#define COLUMNS(X)                                                                                 \
	X(SOURCE, "source", STR, "nsys: the profiler; cupti: CUDA on behalf of tools")             \
	X(NAME, "name", STR, "what it did")                                                        \
	X(COUNT, "count", I64, "times")                                                            \
	X(TOTAL, "total_ms", F64, "sum of durations, on all threads")                              \
	X(LONGEST, "longest_ms", F64, "longest")                                                   \
	X(IN_WINDOW, "in_window_ms", F64, "part of total_ms inside the window of GPU work")
NSX_LAYOUT_OF(layout, COLUMNS, .key = "rows");

static void fill_costs(const struct nsx_trace *t, const struct nsx_profiler *p,
		       struct nsx_table *table)
{
	NSX_EACH_RUN(i, next, p->n, nsx_same_profiler_row(&p->v[i], &p->v[next])) {
		int64_t n = 0, total = 0, longest = 0, window = 0;
		struct nsx_cell *row;

		for (size_t k = i; k < next; k++) {
			const struct nsx_profiler_row *x = &p->v[k];
			int64_t ns = nsx_in_window(t, x->start_ns, x->end_ns);

			n += nsx_starts_inside(t, x->start_ns);
			nsx_add_to(&total, ns);
			longest = NSX_MAX(longest, ns);
			nsx_add_to(&window, x->in_window_ns);
		}
		if (!n && !total)
			continue;
		row = nsx_add_row(table);
		row[SOURCE] = nsx_string(p->v[i].id < 0 ? "cupti" : "nsys");
		row[NAME] = nsx_string(p->v[i].name);
		row[COUNT] = nsx_int(n);
		row[TOTAL] = nsx_ms(total);
		row[LONGEST] = nsx_ms(longest);
		row[IN_WINDOW] = nsx_ms(window);
	}
	nsx_table_sort(table, NSX_DESC(IN_WINDOW), NSX_DESC(TOTAL), SOURCE, NAME);
}

static int profiler_cost_run(const struct nsx_run *run, struct nsx_section *out,
			     struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_profiler *p = run->facts->profiler;
	struct nsx_table *table = nsx_add_table(out, &layout);

	if (!p)
		return nsx_cannot(out, "the trace has no rows of PROFILER_OVERHEAD or "
				       "CUPTI_ACTIVITY_KIND_OVERHEAD");
	fill_costs(run->trace, p, table);
	nsx_put(out, "most_lost_ms", nsx_ms(p->most_lost_ns));
	nsx_put(out, "most_lost_pct", nsx_real(p->most_lost_pct));
	if (p->defects)
		nsx_note(out, "%zu rows of overhead without a valid start and end are left "
			      "out", p->defects);
	return 0;
}

NSX_DEFINE_PASS(profiler_cost,
	.title = "CPU",
	.summary = "time the profiler itself took",
	.doc = "Rows of the profiler's own overhead, and CUDA's overheads of the types that tools "
	       "cause (buffer flush, instrumentation, resources), by kind of work. most_lost_ms is "
	       "the union of both on the thread that lost most inside the window of GPU work. "
	       "Module loading, lazy loading and a full command buffer are the program's own costs "
	       "and not included.",
	.derived_from = "profiler overhead rows; CUDA overheads of types 3 to 5",
	.limitations = "calls and launches that are slower under tracing leave no rows",
	.any_of = {NSX_NEED_VIEW(profiler_overhead), NSX_NEED_VIEW(overhead)},
	NSX_LAYOUT(layout));
