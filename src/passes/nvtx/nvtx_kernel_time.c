/* nvtx_kernel_time.c - kernel time by the innermost range at the launch.
 *
 * Coverage is over all kernels; unmapped time is shown by reason. Graph replays without
 * recorded kernels are not included but shown separately.
 */
#include "trace/nvtx_walk.h"
#include "passes/pass.h"

#define COLUMNS(X)                                                                                 \
	X(NAME, "range_name", STR, "normalised name")                                              \
	X(COUNT, "kernel_count", I64, "kernels whose innermost range has this name")               \
	X(TOTAL_NS, "total_kernel_time_ns", I64, "sum of these kernels' durations")                \
	X(TOTAL_MS, "total_kernel_time_ms", F64, "sum of these kernels' durations")                \
	X(AVG, "avg_kernel_duration_us", F64, "mean")                                              \
	X(PCT, "pct_of_total_kernel_time", F64, "share of the time of all kernels, mapped or not")
NSX_LAYOUT_OF(layout, COLUMNS, .key = "ranges");

struct sums {
	struct nsx_nvtx_sum *v; /* one for each group of ranges */
	struct nsx_coverage all;
	int64_t no_stack_ns, opaque_ns;
};

static void nvtx_kernel_time_add_kernel(const struct nsx_run *run, size_t op,
					const struct nsx_nvtx_groups *g, struct sums *s)
{
	const struct nsx_trace *t = run->trace;
	uint32_t range = nsx_op_range(&run->facts->nvtx, op);
	uint32_t call = nsx_op_call(&t->ops, op);
	int64_t ns = nsx_op_ns(&t->ops, op);

	if (range != NSX_NONE) {
		nsx_add_to(&s->v[g->of[range]].ns, ns);
		s->v[g->of[range]].count += nsx_op_counts(t, op);
	} else if (call != NSX_NONE && !t->thread[nsx_call_thread(t, call)].has_stack) {
		nsx_add_to(&s->no_stack_ns, ns);
	}
}

/* Adds replays without recorded nodes. */
static int add_unrecorded_replays(const struct nsx_run *run, struct sums *s, struct nsx_err *err)
{
	const struct nsx_ops *o = &run->trace->ops;
	uint8_t *has_nodes;

	if (!nsx_new_array(has_nodes, run->scratch, run->trace->calls.n, "graph launches", err))
		return err->rc;
	for (size_t i = 0; i < o->n; i++) {
		uint32_t call = nsx_op_call(o, i);

		if ((o->flags[i] & NSX_OP_NODE) && call != NSX_NONE)
			has_nodes[call] = 1;
	}
	for (size_t i = 0; i < o->n; i++) {
		uint32_t call = nsx_op_call(o, i);

		if (o->kind[i] == NSX_OP_GRAPH && (call == NSX_NONE || !has_nodes[call]))
			nsx_add_to(&s->opaque_ns, nsx_op_ns(o, i));
	}
	return 0;
}

static int nvtx_kernel_time_sum_up(const struct nsx_run *run, struct nsx_nvtx_groups *g,
				   struct sums *s, struct nsx_err *err)
{
	if (nsx_nvtx_group(run->trace, false, run->scratch, g, err) ||
	    !nsx_new_array(s->v, run->scratch, g->n, "range names", err))
		return err->rc;
	for (size_t i = 0; i < run->trace->ops.n; i++)
		if (run->trace->ops.kind[i] == NSX_OP_KERNEL)
			nvtx_kernel_time_add_kernel(run, i, g, s);
	return add_unrecorded_replays(run, s, err);
}

/* Fills rows, sorted by time, count, name. */
static int nvtx_kernel_time_fill_ranges(const struct nsx_run *run,
					const struct nsx_nvtx_groups *g, const struct sums *s,
					struct nsx_table *table, struct nsx_err *err)
{
	const struct nsx_nvtx_order by = {.t = run->trace, .g = g,
					  .sums = s->v, .size = sizeof(*s->v)};
	uint32_t *order;
	size_t n = 0;

	if (!nsx_new_array(order, run->scratch, g->n, "range names", err))
		return err->rc;
	for (uint32_t k = 0; k < g->n; k++)
		if (s->v[k].count || s->v[k].ns)
			order[n++] = k;
	nsx_table_expect(table, n, run->opts->held_rows);
	nsx_nvtx_sort(order, n, table->max_rows ?: n, &by);
	for (size_t i = 0; i < n; i++) {
		const struct nsx_nvtx_sum *x = &s->v[order[i]];
		struct nsx_cell *row = nsx_add_row(table);

		if (nsx_table_holds(table))
			row[NAME] = nsx_name_cell(run->trace, table, g->name[order[i]]);
		row[COUNT] = nsx_int(x->count);
		row[TOTAL_NS] = nsx_int(x->ns);
		row[TOTAL_MS] = nsx_ms(x->ns);
		row[AVG] = nsx_mean_us(x->ns, x->count);
		row[PCT] = nsx_part_pct(x->ns, s->all.kernel_ns);
	}
	return 0;
}

static void nvtx_kernel_time_put_values(const struct nsx_trace *t, const struct sums *s,
					struct nsx_section *out)
{
	const struct nsx_table_info *const *table = t->schema->table;

	nsx_put(out, "kernel_table", nsx_string(table[NSX_VIEW_kernel]->name));
	nsx_put(out, "runtime_table", nsx_string(table[NSX_VIEW_runtime]->name));
	nsx_put(out, "nvtx_table", nsx_string(table[NSX_VIEW_nvtx]->name));
	nsx_put(out, "total_kernel_time_ns", nsx_int(s->all.kernel_ns));
	nsx_put(out, "mapped_kernel_time_ns", nsx_int(s->all.mapped_ns));
	nsx_put(out, "mapped_kernel_time_ms", nsx_ms(s->all.mapped_ns));
	nsx_put(out, "mapped_kernel_count", nsx_int(s->all.nmapped));
	nsx_put(out, "coverage_fraction",
		nsx_real((double)s->all.mapped_ns / (double)s->all.kernel_ns));
	nsx_put(out, "coverage_pct", nsx_part_pct(s->all.mapped_ns, s->all.kernel_ns));
	nsx_put(out, "unmapped.no_api_row_ms", nsx_ms(s->all.no_call_ns));
	nsx_put(out, "unmapped.no_range_ms", nsx_ms(s->all.no_range_ns));
	nsx_put(out, "unmapped.graph_opaque_ms", nsx_ms(s->opaque_ns));
	nsx_put(out, "unmapped.launch_thread_without_ranges_ms", nsx_ms(s->no_stack_ns));
}

/* "; 1.000 ms ..., 2.000 ms ..." for unmapped time, or nothing. */
static const char *say_unmapped(const struct sums *s, struct nsx_section *out)
{
	const char *no_call = "", *no_range = "", *no_stack = "";

	if (s->all.no_call_ns)
		no_call = nsx_say(out, "; %s have no API row: launched before the capture, or the "
			"call was not traced", nsx_say_time(out, s->all.no_call_ns));
	if (s->all.no_range_ns)
		no_range = nsx_say(out, "; %s were launched outside every range",
			nsx_say_time(out, s->all.no_range_ns));
	if (s->no_stack_ns)
		no_stack = nsx_say(out, ", %s of it on threads without ranges",
			nsx_say_time(out, s->no_stack_ns));
	return nsx_say(out, "%s%s%s", no_call, no_range, no_stack);
}

static void nvtx_kernel_time_judge(const struct nsx_run *run, const struct sums *s,
				   struct nsx_section *out)
{
	double pct = 100 * (double)s->all.mapped_ns / (double)s->all.kernel_ns;
	double least = 100 * run->opts->nvtx_coverage_warn;

	nsx_md_bullet(out, "Coverage: %s of kernel time, %s of %s, %s%s.",
		nsx_text_share(out->arena, pct, 100), nsx_say_time(out, s->all.mapped_ns),
		nsx_say_time(out, s->all.kernel_ns),
		nsx_text_n(out->arena, (size_t)s->all.nmapped, "kernel",
							       NULL), say_unmapped(s, out));
	if (s->opaque_ns)
		nsx_md_bullet(out, "%s of graph replays, whose kernels were not recorded, are not "
			"included.", nsx_say_time(out, s->opaque_ns));
	if (pct < least)
		nsx_warn(out, "NVTX coverage is %.1f%% of kernel time, below %.1f%%, so GPU time "
			      "by range and phase is incomplete.", pct, least);
}

static int nvtx_kernel_time_run(const struct nsx_run *run, struct nsx_section *out,
				struct nsx_err *err)
{
	struct nsx_nvtx_groups g;
	struct sums s = {.all = run->facts->coverage[run->trace->nprocesses]};
	struct nsx_table *table = nsx_add_table(out, &layout);

	if (!run->opts->nvtx_kernel_map)
		return nsx_cannot(out, "disabled by --no-nvtx-kernel-map");
	if (nvtx_kernel_time_sum_up(run, &g, &s, err) ||
	    nvtx_kernel_time_fill_ranges(run, &g, &s, table, err))
		return err->rc;
	out->sql_differs = run->trace->defects.crossing_ranges > 0;
	nvtx_kernel_time_put_values(run->trace, &s, out);
	nsx_md_heading(out, "NVTX");
	if (g.n && s.all.kernel_ns)
		nvtx_kernel_time_judge(run, &s, out);
	return 0;
}

NSX_DEFINE_PASS(nvtx_kernel_time,
	.summary = "kernel time by innermost NVTX range, and its coverage",
	.doc = "Each kernel belongs to the innermost range open on the launching thread at the "
	       "start of its host call: a range in the user's domains, or, if none of these is "
	       "open, in a library's. coverage = time of kernels that have such a range / time of "
	       "all kernels. The rest is no_api_row (the kernel has no call in the trace) or "
	       "no_range (no range was open); part of the latter is launch_thread_without_ranges, "
	       "calls of threads that have no ranges at all. graph_opaque is the time of graph "
	       "replays whose kernels were not recorded; no other figure includes it.",
	.caveat = "a kernel is mapped if any push/pop range of any domain is open on the launching "
		   "thread where its call begins; calls and kernels are joined within their "
		   "process, and coverage is over all kernels. nsys-llm-explain joins across "
		   "processes and requires the range to enclose the whole call",
	.needs = {NSX_KERNELS_BY_RANGE},
	NSX_LAYOUT(layout));
