/* nvtx_start_end.c - kernels that a process launched during its start/end ranges. This is
 * association, not attribution.
 *
 * The ends of a process's ranges cut its time into pieces. Each kernel belongs to the piece in
 * which its call begins, found by bisection. A range, or the union of those with one name, is then
 * a difference of prefix sums: memory grows with the ranges, not with the kernels.
 */
#include "trace/nvtx_walk.h"
#include "passes/pass.h"

#define COLUMNS(X)                                                                                 \
	X(NAME, "range_name", STR, "normalised name")                                              \
	X(COUNT, "count", I64, "ranges that began in the window")                                  \
	X(TOTAL, "total_time_ms", F64, "sum of the ranges' lengths")                               \
	X(KERNELS, "kernel_count", I64,                                                            \
	  "kernels whose call, on any thread of the process, began while such a range was open")   \
	X(TIME, "kernel_time_ms", F64, "sum of these kernels' durations")
NSX_LAYOUT_OF(layout, COLUMNS, .key = "*");

struct cut { /* an end of a range, and the kernels up to the next end */
	int64_t at, ns, kernels;
	uint32_t process;
};
struct work {
	const struct nsx_trace *t;
	struct nsx_nvtx_groups g;
	uint32_t *ranges; /* sorted by process, group, start                 */
	struct cut *cuts; /* sorted by process, time                         */
	size_t nranges, ncuts;
};
struct group {
	int64_t count, total_ns, kernels, kernel_ns;
};

static bool is_start_end(const struct nsx_nvtx *x, size_t range)
{
	return x->kind[range] == NSX_NVTX_ASYNC && !(x->flags[range] & NSX_NVTX_CROSSING);
}

static uint32_t process_of_range(const struct nsx_trace *t, uint32_t range)
{
	return t->thread[nsx_nvtx_thread(t, range)].process;
}

NSX_ORDER(cmp_cuts, struct cut, UP(process), UP(at));

NSX_ORDER_IN(cmp_ranges, uint32_t, struct work, UP(process_of_range(c->t, *x)), UP(c->g.of[*x]),
	     UP(nsx_range_start(&c->t->nvtx, *x)));

static int nvtx_start_end_find_ranges(struct work *w, struct nsx_arena *a, struct nsx_err *err)
{
	const struct nsx_nvtx *x = &w->t->nvtx;

	for (size_t i = 0; i < x->n; i++)
		w->nranges += is_start_end(x, i);
	if (!nsx_new_array(w->ranges, a, w->nranges, "start/end ranges", err) ||
	    !nsx_new_array(w->cuts, a, 2 * w->nranges, "start/end ranges", err))
		return err->rc;
	w->nranges = 0;
	for (uint32_t i = 0; i < x->n; i++) {
		uint32_t process = process_of_range(w->t, i);

		if (!is_start_end(x, i))
			continue;
		w->ranges[w->nranges++] = i;
		w->cuts[w->ncuts++] = (struct cut){.at = nsx_range_start(x, i),
						   .process = process};
		w->cuts[w->ncuts++] = (struct cut){
		    .at = x->flags[i] & NSX_NVTX_OPEN ? INT64_MAX
						      : nsx_range_end(x, i),
		    .process = process};
	}
	nsx_sort_r(w->ranges, w->nranges, 4, cmp_ranges, w);
	nsx_sort(w->cuts, w->ncuts, sizeof(*w->cuts), cmp_cuts);
	return 0;
}

/* The index of the process's first cut after a time. */
static size_t first_cut_after(const struct work *w, uint32_t process, int64_t at)
{
	return NSX_SEARCH(0, w->ncuts, mid, w->cuts[mid].process < process ||
			  (w->cuts[mid].process == process && w->cuts[mid].at <= at));
}

/* Adds kernels to pieces, then makes prefix sums: cuts[i] holds everything before it. */
static void nvtx_start_end_add_kernels(struct work *w)
{
	const struct nsx_ops *o = &w->t->ops;
	int64_t ns = 0, kernels = 0;

	for (size_t i = 0; i < o->n; i++) {
		uint32_t call = nsx_op_call(o, i);
		size_t c;

		if (o->kind[i] != NSX_OP_KERNEL || call == NSX_NONE)
			continue;
		c = first_cut_after(w, nsx_op_process(w->t, i), nsx_call_start(&w->t->calls, call));
		if (c == w->ncuts)
			continue;
		nsx_add_to(&w->cuts[c].ns, nsx_op_ns(o, i));
		w->cuts[c].kernels += nsx_op_counts(w->t, i);
	}
	for (size_t c = 0; c < w->ncuts; c++) {
		ns = w->cuts[c].ns = nsx_add_sat(ns, w->cuts[c].ns);
		kernels = w->cuts[c].kernels += kernels;
	}
}

/* Sums the ranges of one name in order of start. Each adds the part that earlier ranges do not
 * cover.
 */
static void nvtx_start_end_sum_ranges(const struct work *w, struct group *v)
{
	const struct nsx_nvtx *x = &w->t->nvtx;
	int64_t covered = INT64_MIN;

	for (size_t k = 0; k < w->nranges; k++) {
		uint32_t i = w->ranges[k], before = k ? w->ranges[k - 1] : i;
		uint32_t process = process_of_range(w->t, i);
		struct group *g = &v[w->g.of[i]];
		int64_t to = x->flags[i] & NSX_NVTX_OPEN ? INT64_MAX : nsx_range_end(x, i);

		if (w->g.of[before] != w->g.of[i] ||
		    process_of_range(w->t, before) != process)
			covered = INT64_MIN;
		g->count += nsx_starts_inside(w->t, nsx_range_start(x, i));
		nsx_add_to(&g->total_ns, nsx_range_inside(w->t, i));
		covered = NSX_MAX(covered, nsx_range_start(x, i));
		if (to > covered) {
			const struct cut *a = &w->cuts[first_cut_after(w, process, covered) - 1];
			const struct cut *b = &w->cuts[first_cut_after(w, process, to) - 1];

			nsx_add_to(&g->kernel_ns, b->ns - a->ns);
			g->kernels += b->kernels - a->kernels;
			covered = to;
		}
	}
}

static void nvtx_start_end_fill_groups(const struct work *w, const struct group *v,
				       struct nsx_table *table)
{
	for (uint32_t k = 0; k < w->g.n; k++) {
		struct nsx_cell *row;

		if (!v[k].count && !v[k].total_ns)
			continue; /* the name has no range in the window */
		row = nsx_add_row(table);
		row[NAME] = nsx_string(nsx_text(w->t, w->g.name[k]));
		row[COUNT] = nsx_int(v[k].count);
		row[TOTAL] = nsx_ms(v[k].total_ns);
		row[KERNELS] = nsx_int(v[k].kernels);
		row[TIME] = nsx_ms(v[k].kernel_ns);
	}
	nsx_table_sort(table, NSX_DESC(TIME), NSX_DESC(TOTAL), NSX_DESC(COUNT), NAME);
}

static int nvtx_start_end_run(const struct nsx_run *run, struct nsx_section *out,
			      struct nsx_err *err)
{
	struct work w = {.t = run->trace};
	struct nsx_table *table = nsx_add_table(out, &layout);
	struct group *v;

	if (nsx_nvtx_group(w.t, false, run->scratch, &w.g, err) ||
	    nvtx_start_end_find_ranges(&w, run->scratch, err))
		return err->rc;
	if (!w.nranges || !run->opts->nvtx_kernel_map ||
	    nsx_pass_missing(&nsx_pass_nvtx_kernel_time, w.t->schema, run->scratch)) {
		out->status = NSX_S_NULL;
		return 0;
	}
	if (!nsx_new_array(v, run->scratch, w.g.n, "range names", err))
		return err->rc;
	nvtx_start_end_add_kernels(&w);
	nvtx_start_end_sum_ranges(&w, v);
	nvtx_start_end_fill_groups(&w, v, table);
	nsx_md_heading(out, "NVTX");
	nsx_md_text(out, "Kernels launched by a process during its start/end ranges (association: "
			 "such ranges overlap freely, so a kernel may be in several rows and is "
			 "not part of the coverage):");
	nsx_md_whole(out, table, 0);
	return 0;
}

NSX_DEFINE_PASS(nvtx_start_end, .json = "nvtx.start_end",
	.summary = "kernels launched during start/end NVTX ranges",
	.doc = "For each name: kernels whose host call, on any thread of the process, begins while "
	       "at least one start/end range of this name is open in that process. Not part of "
	       "coverage.", NSX_LAYOUT(layout), .may_be_null = true);
