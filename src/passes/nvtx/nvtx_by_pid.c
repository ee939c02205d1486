/* nvtx_by_pid.c - ranges and mapped kernel time by process.
 *
 * Processes with the same pid on different hosts are distinct.
 */
#include "trace/nvtx_walk.h"
#include "passes/pass.h"

#define COLUMNS(X)                                                                                 \
	X(PID, "pid", I64, "process")                                                              \
	X(NAME, "range_name", STR, "normalised name")                                              \
	X(COUNT, "nvtx_count", I64, "ranges that began in the window", .adds = true)               \
	X(TOTAL, "nvtx_total_time_ms", F64,                                                        \
	  "host time in ranges of this name; for ranges inside one of the same name only the "     \
	  "outer one counts")                                                                      \
	X(GPU, "attributed_kernel_time_ms", F64,                                                   \
	  "kernels whose innermost range has this name", .adds = true)                             \
	X(KERNELS, "attributed_kernel_count", I64, "number of these kernels", .adds = true)        \
	X(COVERAGE, "pid_attribution_coverage_pct", F64,                                           \
	  "share of the process's kernel time that was launched in any range")
NSX_COLUMNS(cols, COLUMNS);
#define PID_COLUMNS(X)                                                                   \
	X(P_PID, "pid", I64, "process")                                                  \
	X(P_TOTAL, "pid_total_kernel_time_ms", F64, "all its kernels")                   \
	X(P_KERNELS, "pid_total_kernel_count", I64, "number of the process's kernels")   \
	X(P_MAPPED, "pid_attributed_kernel_time_ms", F64, "kernels launched in a range") \
	X(P_FRACTION, "pid_attribution_coverage_fraction", F64,                          \
	  "pid_attributed_kernel_time_ms over pid_total_kernel_time_ms")                 \
	X(P_PCT, "pid_attribution_coverage_pct", F64, "coverage as a percentage")
NSX_COLUMNS(pid_cols, PID_COLUMNS);
#define RANGE_COLUMNS(X)                                                                           \
	X(R_PID, "pid", I64, "process")                                                            \
	X(R_NAME, "range_name", STR, "normalised name")                                            \
	X(R_COUNT, "kernel_count", I64, "kernels whose innermost range has this name")             \
	X(R_NS, "total_kernel_time_ns", I64, "sum of these kernels' durations")                    \
	X(R_MS, "total_kernel_time_ms", F64, "sum of these kernels' durations")                    \
	X(R_AVG, "avg_kernel_duration_us", F64, "mean")
NSX_COLUMNS(range_cols, RANGE_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "ranges", .csv = "nvtx_by_pid", NSX_COLS(cols)},
	{.key = "kernel_time_by_pid.pids", NSX_COLS(pid_cols)},
	{.key = "kernel_time_by_pid.ranges", NSX_COLS(range_cols)},
};
/* The first rows of each process, among rows that the table does not keep; for per_pid. */
static const struct nsx_layout first_layout = {
	.key = "first_ranges", NSX_COLS(cols), .json_rows = NSX_NOT_IN_JSON};

struct row { /* a name in a process */
	struct nsx_nvtx_sum sum; /* first member: the sort key */
	int64_t kernel_ns;
	uint32_t kernels;
};
struct work {
	const struct nsx_trace *t;
	struct nsx_nvtx_groups g;
	struct row *v; /* one for each group */
	struct nsx_nvtx_order by;
	uint32_t *order, n; /* groups in the order of rows, by process       */
	uint32_t *place; /* for each process: its place in the order */
	uint32_t *at; /* for each place: its first row, and the end */
	int64_t *range_ns; /* for each process: sum over its rows */
	const struct nsx_coverage *p; /* one for each process */
	bool gpu; /* kernels could be attributed to ranges */
};

static void nvtx_by_pid_add_ranges(struct work *w, const struct nsx_nvtx_facts *f)
{
	const struct nsx_nvtx *x = &w->t->nvtx;

	for (size_t i = 0; i < x->n; i++) {
		struct row *row;
		int64_t ns = nsx_range_inside(w->t, i);
		bool inside = nsx_starts_inside(w->t, nsx_range_start(x, i));

		if (w->g.of[i] == NSX_NONE)
			continue;
		row = &w->v[w->g.of[i]];
		row->sum.count += inside;
		if (!f->nested[i])
			nsx_add_to(&row->sum.ns, ns);
		row->sum.attributes |= x->kind[i] == NSX_NVTX_STACK && (inside || ns);
	}
	for (uint32_t k = 0; k < w->g.n; k++)
		nsx_add_to(&w->range_ns[w->g.process[k]], w->v[k].sum.ns);
}

static void nvtx_by_pid_add_kernels(struct work *w, const struct nsx_nvtx_facts *f)
{
	const struct nsx_ops *o = &w->t->ops;

	for (size_t i = 0; i < o->n; i++) {
		uint32_t range = nsx_op_range(f, i);
		struct row *row;

		if (o->kind[i] != NSX_OP_KERNEL || range == NSX_NONE)
			continue;
		row = &w->v[w->g.of[range]];
		nsx_add_to(&row->kernel_ns, nsx_op_ns(o, i));
		row->kernels += nsx_op_counts(w->t, i);
	}
}

NSX_ORDER_IN(nvtx_by_pid_cmp_processes, uint32_t, int64_t, DOWN(c[*x]), UP(*x));

static int order_processes_by_range_time(struct work *w, struct nsx_arena *a, struct nsx_err *err)
{
	uint32_t n = w->t->nprocesses, *processes;

	if (!nsx_new_array(w->order, a, w->g.n, "range names", err))
		return err->rc;
	nsx_few(processes, a, n);
	nsx_few(w->place, a, n);
	nsx_few(w->at, a, (size_t)n + 2);
	nsx_sort_indices(processes, n, nvtx_by_pid_cmp_processes, w->range_ns);
	for (uint32_t i = 0; i < n; i++)
		w->place[processes[i]] = i;
	/* Groups outside the window are left out. */
	NSX_DEAL(w->at, w->order, n, w->g.n, k,
		 w->v[k].sum.count || w->v[k].sum.ns || w->v[k].kernel_ns ?
			 w->place[w->g.process[k]] : NSX_NONE);
	w->n = w->at[n];
	return 0;
}

/* Sorts a process's rows by time, count, name, as far as they are shown. */
static int sort_process_range_rows(struct work *w, const struct nsx_run *run,
				   struct nsx_table *table, struct nsx_err *err)
{
	size_t nheld;

	if (order_processes_by_range_time(w, run->scratch, err))
		return err->rc;
	w->by = (struct nsx_nvtx_order){.t = w->t, .g = &w->g, .sums = w->v,
					.size = sizeof(*w->v)};
	nsx_table_expect(table, w->n, run->opts->held_rows);
	nheld = table->max_rows ?: w->n;
	for (uint32_t i = 0; i < w->t->nprocesses; i++) {
		size_t from = w->at[i];

		nsx_nvtx_sort(w->order + from, w->at[i + 1] - from,
			      NSX_MAX(NSX_MAX_JSON_ROWS,
				      nheld - NSX_MIN(nheld, from)), &w->by);
	}
	return 0;
}

static int nvtx_by_pid_sum_up(const struct nsx_run *run, struct work *w,
			      struct nsx_table *table, struct nsx_err *err)
{
	if (nsx_nvtx_group(w->t, true, run->scratch, &w->g, err) ||
	    !nsx_new_array(w->v, run->scratch, w->g.n, "range names", err))
		return err->rc;
	nsx_few(w->range_ns, run->scratch, w->t->nprocesses);
	nvtx_by_pid_add_ranges(w, &run->facts->nvtx);
	if (w->gpu)
		nvtx_by_pid_add_kernels(w, &run->facts->nvtx);
	nsx_arena_drop(run->scratch, w->g.of);
	w->g.of = NULL;
	return sort_process_range_rows(w, run, table, err);
}

static void nvtx_by_pid_fill_range(const struct work *w, uint32_t group, struct nsx_table *table)
{
	struct nsx_cell *row = nsx_add_row(table);
	uint32_t process = w->g.process[group];
	const struct row *x = &w->v[group];
	const struct nsx_coverage *p = &w->p[process];

	row[COUNT] = nsx_int(x->sum.count);
	if (w->gpu && (x->sum.attributes || x->kernel_ns)) {
		row[GPU] = nsx_ms(x->kernel_ns);
		row[KERNELS] = nsx_int(x->kernels);
	}
	if (!nsx_table_holds(table))
		return;
	row[PID] = nsx_pid_cell(w->t, process);
	row[NAME] = nsx_name_cell(w->t, table, w->g.name[group]);
	row[TOTAL] = nsx_ms(x->sum.ns);
	if (w->gpu)
		row[COVERAGE] = nsx_part_pct(p->mapped_ns, p->kernel_ns);
}

static void nvtx_by_pid_fill_ranges(const struct work *w, struct nsx_table *table,
				    struct nsx_table *first)
{
	uint32_t n = 0; /* number of this process's rows                     */

	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t group = w->order[i];

		if (i && w->g.process[group] != w->g.process[w->order[i - 1]])
			n = 0;
		nvtx_by_pid_fill_range(w, group, table);
		if (n++ < NSX_MAX_JSON_ROWS && table->nrows < nsx_table_total(table))
			nvtx_by_pid_fill_range(w, group, first);
	}
}

/* Compares groups by kernel time, most first. Ties keep the order of the ranges. */
NSX_ORDER_IN(cmp_kernel_times, uint32_t, struct work, DOWN(c->v[*x].kernel_ns),
	     DOWN(c->v[*x].kernels), UP(c->place[c->g.process[*x]]),
	     BY(nsx_nvtx_cmp(&c->by, *x, *y)));

/* Fills only the rows that are shown, because the table has no CSV. */
static void fill_kernel_ranges(const struct work *w, struct nsx_table *table)
{
	uint32_t top[NSX_MAX_JSON_ROWS];
	size_t n = 0;

	for (uint32_t g = 0; g < w->g.n; g++)
		if (w->v[g].kernels || w->v[g].kernel_ns)
			nsx_keep_first(top, &n, NSX_MAX_JSON_ROWS, &g, sizeof(g), cmp_kernel_times,
				       (void *)w);
	for (size_t k = 0; k < n; k++) {
		uint32_t group = top[k];
		const struct row *x = &w->v[group];
		struct nsx_cell *row = nsx_add_row(table);

		row[R_PID] = nsx_pid_cell(w->t, w->g.process[group]);
		row[R_NAME] = nsx_string(nsx_text(w->t, w->g.name[group]));
		row[R_COUNT] = nsx_int(x->kernels);
		row[R_NS] = nsx_int(x->kernel_ns);
		row[R_MS] = nsx_ms(x->kernel_ns);
		row[R_AVG] = nsx_mean_us(x->kernel_ns, x->kernels);
	}
}

static void nvtx_by_pid_fill_pids(const struct work *w, struct nsx_table *table)
{
	for (uint32_t i = 0; i < w->t->nprocesses; i++) {
		const struct nsx_coverage *p = &w->p[i];
		struct nsx_cell *row;

		if (!p->nkernels && !p->kernel_ns)
			continue;
		row = nsx_add_row(table);
		row[P_PID] = nsx_pid_cell(w->t, i);
		row[P_TOTAL] = nsx_ms(p->kernel_ns);
		row[P_KERNELS] = nsx_int(p->nkernels);
		row[P_MAPPED] = nsx_ms(p->mapped_ns);
		row[P_PCT] = nsx_part_pct(p->mapped_ns, p->kernel_ns);
		row[P_FRACTION] = nsx_real((double)p->mapped_ns / (double)p->kernel_ns);
	}
	nsx_table_sort(table, NSX_DESC(P_TOTAL), NSX_DESC(P_KERNELS), P_PID);
}

/* Judges coverage by process, because one process may lack ranges while the total coverage is
 * good.
 */
static void nvtx_by_pid_judge(const struct nsx_run *run, const struct work *w,
			      struct nsx_section *out)
{
	double least = run->opts->nvtx_coverage_warn, worst = least;
	int64_t total_ns = 0, mapped_ns = 0;
	uint32_t process = 0;

	for (uint32_t i = 0; i < w->t->nprocesses; i++) {
		const struct nsx_coverage *p = &w->p[i];
		double share = p->kernel_ns ? (double)p->mapped_ns / (double)p->kernel_ns : 1;

		nsx_add_to(&total_ns, p->kernel_ns);
		nsx_add_to(&mapped_ns, p->mapped_ns);
		if (share < worst) {
			worst = share;
			process = i;
		}
	}
	if (worst < least && (double)mapped_ns >= least * (double)total_ns)
		nsx_warn(out, "NVTX coverage of PID %s is %.1f%% of its kernel time, below "
			      "%.1f%%.", nsx_pid_label(w->t, process), 100 * worst, 100 * least);
}

static int nvtx_by_pid_run(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	const char *missing = nsx_pass_missing(&nsx_pass_nvtx_kernel_time, run->trace->schema,
		out->arena);
	struct work w = {.t = run->trace,
			 .p = run->facts->coverage,
			 .gpu = run->opts->nvtx_kernel_map && !missing};
	struct nsx_table *ranges = nsx_add_table(out, &layouts[0]);
	struct nsx_table *pids = nsx_add_table(out, &layouts[1]);
	struct nsx_table *kernels = nsx_add_table(out, &layouts[2]);

	if (nvtx_by_pid_sum_up(run, &w, ranges, err))
		return err->rc;
	nvtx_by_pid_fill_ranges(&w, ranges, nsx_add_table(out, &first_layout));
	if (w.gpu) {
		nvtx_by_pid_fill_pids(&w, pids);
		fill_kernel_ranges(&w, kernels);
		nvtx_by_pid_judge(run, &w, out);
	}
	/* the query cannot distinguish missing values from zero */
	out->sql_differs = w.t->defects.crossing_ranges > 0 || (!w.gpu && w.t->ndevices);
	nsx_put(out, "pid_source", nsx_string(w.t->pid_source_nvtx));
	nsx_put(out, "kernel_time_by_pid.present", nsx_bool(w.gpu));
	if (missing)
		nsx_note(out, "no kernel time by range: the trace has no %s", missing);
	return 0;
}

NSX_DEFINE_PASS(nvtx_by_pid,
	.json = "by_pid.nvtx",
	.title = "NVTX by process",
	.summary = "NVTX ranges and mapped kernel time by process",
	.doc = "Like nvtx and nvtx_kernel_time, by (process, name). A kernel and the range it was "
	       "launched in belong to one process, because calls and kernels are joined within "
	       "their process; so coverage cannot exceed 100 %.",
	.derived_from = "ranges and the kernels launched in them, by the process of their thread",
	.limitations = "host time of all threads of a process added up; kernel time by innermost "
		       "range, as far as API calls were traced",
	.needs = {NSX_NEED_VIEW(nvtx)},
	NSX_LAYOUTS(layouts));
