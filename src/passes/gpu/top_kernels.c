/* top_kernels.c - kernels by (name, device).
 *
 * One sweep over each device collects durations by group; a second one computes each
 * group's union and the time it ran alone (nsx_group_times).
 */
#include <inttypes.h>
#include "passes/pass.h"

#define COLUMNS(X)                                                                                 \
	X(NAME, "kernel_name", STR, "full name of the kernel")                                     \
	X(DEVICE, "device_id", I64, "CUDA ordinal")                                                \
	X(CALLS, "call_count", I64,                                                                \
	  "executions that began in the window", .title = "calls", .adds = true)                   \
	X(TOTAL_NS, "total_time_ns", I64, "sum of durations", .adds = true)                        \
	X(TOTAL_MS, "total_time_ms", F64, "sum of durations", .title = "total_ms", .adds = true)   \
	X(AVG, "avg_duration_us", F64, "total over count", .title = "avg_us")                      \
	X(MIN, "min_duration_us", F64, "shortest")                                                 \
	X(MAX, "max_duration_us", F64, "longest")                                                  \
	X(P50, "p50_duration_us", F64, "median, linear interpolation", .title = "p50_us")          \
	X(P90, "p90_duration_us", F64, "90th percentile", .title = "p90_us")                       \
	X(PCT, "pct_total_kernel_time", F64, "share of the summed kernel time of all devices",     \
	  .title = "pct_kernel_time", .adds = true)                                                \
	X(P99, "p99_duration_us", F64, "99th percentile")                                          \
	X(STDDEV, "stddev_us", F64, "sample standard deviation")                                   \
	X(BUSY, "busy_ms", F64, "union of its executions on the device")                           \
	X(EXCLUSIVE, "exclusive_ms", F64,                                                          \
	  "part of busy_ms in which nothing else ran on the device", .adds = true)                 \
	X(CATEGORY, "category", STR, "purpose of the kernel, by its name")                         \
	X(LABEL, "label", STR,                                                                     \
	  "short name in words, distinct from that of any other kernel", .title = "kernel")        \
	X(FAMILY, "family", STR, "family of kernels that would be replaced as a whole")
NSX_COLUMNS(cols, COLUMNS);
#define SUM_COLUMNS(X)                                                                             \
	X(SUM_TIME, "Time (%)", F64, "share of all kernel time", .adds = true)                     \
	X(SUM_TOTAL_TIME_NS, "Total Time (ns)", I64, "sum of durations", .adds = true)             \
	X(SUM_INSTANCES, "Instances", I64, "executions", .adds = true)                             \
	X(SUM_AVG_NS, "Avg (ns)", F64, "mean")                                                     \
	X(SUM_MED_NS, "Med (ns)", F64, "median")                                                   \
	X(SUM_MIN_NS, "Min (ns)", I64, "shortest")                                                 \
	X(SUM_MAX_NS, "Max (ns)", I64, "longest")                                                  \
	X(SUM_STDDEV_NS, "StdDev (ns)", F64, "sample standard deviation")                          \
	X(SUM_NAME, "Name", STR, "full name")
NSX_COLUMNS(sum_cols, SUM_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "kernels", .csv = "kernels", NSX_COLS(cols)},
	{.key = "cuda_gpu_kern_sum", .csv = "cuda_gpu_kern_sum",
	 NSX_COLS(sum_cols), .json_rows = NSX_NOT_IN_JSON},
};

struct group {
	int64_t total_ns;
	uint32_t shape; /* one of its shapes; all have the same name */
	uint32_t n; /* counted executions */
};
struct groups {
	const struct nsx_trace *t;
	const struct nsx_kernel_names *kernels; /* kernel names, sorted */
	struct group *v; /* groups in order of device */
	size_t n;
	uint32_t *first;	     /* for each device: its first group */
	uint32_t *at;		     /* for each group: its first duration */
	uint32_t *named;	     /* groups sorted by name, then device */
	uint32_t *order;	     /* groups sorted by time */
	struct nsx_group_time *time; /* one for each group */
	/* For each kernel name: index + 1 of its group on the current device. */
	uint32_t *by_kernel;
	uint32_t *of_op;   /* for each operation: its group; NSX_NONE: no kernel */
	int64_t *durations; /* durations group by group, sorted by name, then device */
	int64_t total_ns;
};

static uint32_t kernel_of_group(const struct groups *g, const struct group *x)
{
	return g->kernels->of_shape[x->shape];
}

static nsx_str top_kernels_name_of(const struct groups *g, const struct group *x)
{
	return g->t->shape_name[x->shape];
}

static void group_kernels_of_device(uint32_t device, struct groups *g)
{
	const struct nsx_trace *t = g->t;
	const struct nsx_device *d = &t->device[device];
	size_t first = g->first[device] = (uint32_t)g->n;

	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++) {
		uint32_t shape, *slot;
		struct group *x;

		g->of_op[i] = NSX_NONE;
		if (t->ops.kind[i] != NSX_OP_KERNEL)
			continue;
		shape = nsx_op_detail(&t->ops, i);
		slot = &g->by_kernel[g->kernels->of_shape[shape]];
		if (!*slot) {
			g->v[g->n] = (struct group){.shape = shape};
			*slot = (uint32_t)++g->n;
		}
		x = &g->v[*slot - 1];
		g->of_op[i] = *slot - 1;
		x->n += nsx_op_counts(t, i);
		nsx_add_to(&x->total_ns, nsx_op_ns(&t->ops, i));
	}
	for (size_t k = first; k < g->n; k++)
		g->by_kernel[kernel_of_group(g, &g->v[k])] = 0;
}

static uint32_t device_of_kernel_group(const struct groups *g, const struct group *x)
{
	return NSX_SEARCH(0, g->t->ndevices, mid, g->first[mid] <= (size_t)(x - g->v)) - 1;
}

/* Sorts groups by name. A counting sort is enough: names are in order in the facts, and groups are
 * in order of device.
 */
static int sort_groups_by_name(struct groups *g, struct nsx_arena *a, struct nsx_err *err)
{
	uint32_t *at; /* for each name: its first group */

	if (!nsx_new_array(g->named, a, g->n, "kernel groups", err) ||
	    !nsx_new_array(at, a, g->kernels->n + 2, "kernel names", err))
		return err->rc;
	NSX_DEAL(at, g->named, g->kernels->n, g->n, i, kernel_of_group(g, &g->v[i]));
	nsx_arena_drop(a, at);
	return 0;
}

/* Collects the durations of counted kernels group by group, so that those of one name are
 * adjacent.
 */
static int collect_group_durations(struct groups *g, struct nsx_arena *a, struct nsx_err *err)
{
	const struct nsx_trace *t = g->t;
	uint32_t n = 0;

	if (!nsx_new_array(g->at, a, g->n, "kernel groups", err))
		return err->rc;
	for (size_t k = 0; k < g->n; k++) {
		struct group *x = &g->v[g->named[k]];

		g->at[g->named[k]] = n;
		n += x->n;
		x->n = 0;
		nsx_add_to(&g->total_ns, x->total_ns);
	}
	if (!nsx_new_array(g->durations, a, n, "kernel durations", err))
		return err->rc;
	for (size_t i = 0; i < t->ops.n; i++) {
		struct group *x;

		if (g->of_op[i] == NSX_NONE || !nsx_op_counts(t, i))
			continue;
		x = &g->v[g->of_op[i]];
		g->durations[g->at[g->of_op[i]] + x->n++] = nsx_op_ns(&t->ops, i);
	}
	nsx_arena_drop(a, g->of_op);
	return 0;
}

static int top_kernels_group_kernels(const struct nsx_run *run, struct groups *g,
				     struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;

	if (nsx_new_arrays(run->scratch, t->ops.n, "kernel groups", err, g->v, g->of_op) ||
	    !nsx_new_array(g->by_kernel, run->scratch, g->kernels->n, "kernel names", err))
		return err->rc;
	nsx_few(g->first, run->scratch, t->ndevices);
	for (uint32_t d = 0; d < t->ndevices; d++)
		group_kernels_of_device(d, g);
	nsx_arena_drop(run->scratch, g->by_kernel);
	return sort_groups_by_name(g, run->scratch, err);
}

static int measure_kernel_groups(const struct nsx_run *run, struct groups *g, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	int64_t *end_ns;

	if (nsx_new_arrays(run->scratch, g->n, "kernel groups", err, g->time, end_ns))
		return err->rc;
	for (uint32_t d = 0; d < t->ndevices; d++) {
		const struct nsx_device *dev = &t->device[d];

		nsx_group_times(&t->ops.start, &t->ops.length, g->of_op,
				dev->ops_at, dev->nops, g->time, end_ns);
	}
	nsx_arena_drop(run->scratch, end_ns);
	return collect_group_durations(g, run->scratch, err);
}

static void fill_duration_cells(struct nsx_cell *row, int64_t *v, size_t n)
{
	static const double qs[] = {0.5, 0.9, 0.99};
	int64_t lo = INT64_MAX, hi = INT64_MIN;
	double q[3];

	if (!n)
		return;
	for (size_t i = 0; i < n; i++) {
		lo = NSX_MIN(lo, v[i]);
		hi = NSX_MAX(hi, v[i]);
	}
	row[STDDEV] = nsx_us(nsx_stddev(v, n));
	nsx_quantiles(v, n, qs, 3, q);
	row[MIN] = nsx_us((double)lo);
	row[MAX] = nsx_us((double)hi);
	row[P50] = nsx_us(q[0]);
	row[P90] = nsx_us(q[1]);
	row[P99] = nsx_us(q[2]);
}

static void top_kernels_fill_kernel(const struct nsx_run *run, const struct groups *g,
				    const struct group *x, struct nsx_table *table)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_group_time *time = &g->time[x - g->v];
	struct nsx_cell *row = nsx_add_row(table);
	const struct nsx_kernel_words *words;
	nsx_str name;

	row[CALLS] = nsx_int((int64_t)x->n);
	row[TOTAL_NS] = nsx_int(x->total_ns);
	row[TOTAL_MS] = nsx_ms(x->total_ns);
	row[PCT] = nsx_pct((double)x->total_ns, (double)g->total_ns);
	row[EXCLUSIVE] = nsx_ms(time->exclusive_ns);
	if (!nsx_table_holds(table))
		return;
	words = nsx_kernel_of_shape(g->kernels, x->shape)->words;
	name = top_kernels_name_of(g, x);
	row[NAME] = nsx_name_cell(t, table, name);
	row[DEVICE] = nsx_device_cell(t, device_of_kernel_group(g, x));
	if (x->n)
		row[AVG] = nsx_us((double)x->total_ns / (double)x->n);
	row[BUSY] = nsx_ms(time->busy_ns);
	row[CATEGORY] = nsx_string(nsx_kernel_category_names[words->category]);
	row[LABEL] = nsx_string(nsx_kernel_label(g->kernels, name));
	row[FAMILY] = nsx_string(words->family);
	fill_duration_cells(row, g->durations + g->at[x - g->v], x->n);
}

NSX_KEY_IN(time_key_of_group, uint32_t, struct groups, -c->v[*x].total_ns);

NSX_ORDER_IN(top_kernels_cmp_groups, uint32_t, struct groups, DOWN(c->v[*x].total_ns),
	     DOWN(c->v[*x].n), UP(kernel_of_group(c, &c->v[*x])),
	     UP(c->t->device[device_of_kernel_group(c, &c->v[*x])].device_id));

/* Fills the table of kernels, sorted by time, calls, name, device. */
static int top_kernels_order_kernels(const struct nsx_run *run, struct groups *g,
				     struct nsx_table *table, struct nsx_err *err)
{
	/* Rows for JSON and Markdown must be readable by index. */
	bool is_read = run->opts->kernel_limit <= NSX_READ_ROWS;

	if (!nsx_new_array(g->order, run->scratch, g->n, "kernel groups", err))
		return err->rc;
	for (uint32_t k = 0; k < g->n; k++)
		g->order[k] = k;
	nsx_table_expect(table, g->n, is_read ? run->opts->held_rows : 0);
	nsx_sort_by_key_r(g->order, g->n, table->max_rows ?: g->n,
			  sizeof(*g->order), time_key_of_group, top_kernels_cmp_groups, g);
	return 0;
}

static void top_kernels_fill_kernels(const struct nsx_run *run, struct groups *g,
				     struct nsx_table *table)
{
	for (size_t k = 0; k < g->n; k++) {
		NSX_FETCH_AHEAD(g->v, g->order, k, g->n);
		NSX_FETCH_AHEAD(g->time, g->order, k, g->n);
		top_kernels_fill_kernel(run, g, &g->v[g->order[k]], table);
	}
	nsx_arena_drop(run->scratch, g->order);
	nsx_arena_drop(run->scratch, g->time);
}

static double round_to_tenths(double x)
{
	return round(x * 10) / 10;
}

static void fill_sum(const struct groups *g, uint32_t group, struct nsx_table *table)
{
	struct nsx_cell *row = nsx_add_row(table);
	const struct group *x = &g->v[group];
	int64_t *v = g->durations + g->at[group], lo = INT64_MAX, hi = 0;
	double dev;

	row[SUM_TIME] = nsx_real(round_to_tenths(100 * (double)x->total_ns / (double)g->total_ns));
	row[SUM_TOTAL_TIME_NS] = nsx_int(x->total_ns);
	row[SUM_INSTANCES] = nsx_int((int64_t)x->n);
	if (!nsx_table_holds(table))
		return;
	dev = nsx_stddev(v, x->n);
	for (size_t i = 0; i < x->n; i++) {
		lo = NSX_MIN(lo, v[i]);
		hi = NSX_MAX(hi, v[i]);
	}
	row[SUM_AVG_NS] = nsx_real(round_to_tenths((double)x->total_ns / (double)x->n));
	row[SUM_MED_NS] = nsx_real(round_to_tenths(nsx_quantile(v, x->n, 0.5)));
	row[SUM_MIN_NS] = nsx_int(lo);
	row[SUM_MAX_NS] = nsx_int(hi);
	row[SUM_STDDEV_NS] = nsx_real(round_to_tenths(isnan(dev) ? 0 : dev));
	row[SUM_NAME] = nsx_name_cell(g->t, table, top_kernels_name_of(g, x));
}

/* Merges the groups of one name, keeping what is counted. The merged sums stand in the first group
 * of each name, in front of `named`. Returns how many groups remain.
 */
static size_t merge_groups_by_name(struct groups *g)
{
	size_t n = 0;

	NSX_EACH_RUN(k, next, g->n, kernel_of_group(g, &g->v[g->named[next]]) ==
				    kernel_of_group(g, &g->v[g->named[k]])) {
		uint32_t first = g->named[k];
		struct group *x = &g->v[first];

		for (size_t i = k + 1; i < next; i++)
			x->n += g->v[g->named[i]].n;
		x->total_ns = 0;
		for (size_t i = 0; i < x->n; i++)
			nsx_add_to(&x->total_ns, g->durations[g->at[first] + i]);
		if (x->n)
			g->named[n++] = first;
	}
	return n;
}

/* Compares sums by time; kernels with equal time by name. */
NSX_ORDER_IN(top_kernels_cmp_sums, uint32_t, struct groups, DOWN(c->v[*x].total_ns),
	     UP(kernel_of_group(c, &c->v[*x])));

/* Fills the sums by name over all devices, as nsys stats prints them. */
static void top_kernels_fill_sums(const struct nsx_run *run, struct groups *g,
				  struct nsx_table *table)
{
	size_t n = merge_groups_by_name(g);

	nsx_table_expect(table, n, run->opts->held_rows);
	nsx_sort_by_key_r(g->named, n, table->max_rows ?: n, sizeof(*g->named),
			  time_key_of_group, top_kernels_cmp_sums, g);
	for (size_t i = 0; i < n; i++) {
		NSX_FETCH_AHEAD(g->v, g->named, i, n);
		fill_sum(g, g->named[i], table);
	}
}

static int top_kernels_run(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	struct groups g = {.t = run->trace, .kernels = &run->facts->kernels};
	struct nsx_table *kernels = nsx_add_table(out, &layouts[0]);
	struct nsx_table *sums = nsx_add_table(out, &layouts[1]);
	/* Groups are sorted before durations are collected, because less memory is in use then. */
	int rc = top_kernels_group_kernels(run, &g, err) ?:
		 top_kernels_order_kernels(run, &g, kernels, err) ?:
		 measure_kernel_groups(run, &g, err);

	kernels->json_rows = (int)run->opts->kernel_limit;
	if (rc)
		return rc;
	top_kernels_fill_kernels(run, &g, kernels);
	top_kernels_fill_sums(run, &g, sums);
	nsx_put(out, "table", nsx_string(run->trace->schema->table[ NSX_VIEW_kernel]->name));
	nsx_put(out, "total_kernel_time_ns", nsx_int(g.total_ns));
	/* In a whole report the section of families begins with this sentence. */
	if (kernels->nrows > 1 && !nsx_is_whole(run->opts))
		nsx_md_bullet(out, "%s in total, of %s distinguished by name and "
			      "GPU.", nsx_say_time(out, g.total_ns),
			      nsx_text_n(out->arena, nsx_table_total(kernels), "kernel", NULL));
	nsx_md_table(out, kernels, run->opts->kernel_rows, LABEL, DEVICE,
		     TOTAL_MS, CALLS, AVG, P50, P90, PCT);
	if (kernels->nrows) {
		const struct nsx_cell *top = nsx_row_at(kernels, 0);

		nsx_headline(out, "Top kernel: %s (%.1f%% of kernel time, %.1f ms, "
			     "%" PRId64 " calls)", top[NAME].u.s, top[PCT].u.f,
			     top[TOTAL_MS].u.f, top[CALLS].u.i);
	}
	return 0;
}

NSX_DEFINE_PASS(top_kernels,
	.title = "Kernels",
	.subject = "kernels",
	.summary = "kernels by total time, with percentiles",
	.doc = "Kernels grouped by (full name, device). total is the sum of durations. On "
	       "concurrent streams sums may exceed the wall-clock time, so busy_ms gives the union "
	       "and exclusive_ms the part in which nothing else ran on the device. Percentiles "
	       "interpolate linearly at (n-1)q. Kernels inside graphs traced as a whole are not "
	       "visible.",
	.derived_from = "kernel rows, grouped by name and device",
	.limitations = "times of concurrent streams are added up; kernels inside CUDA graphs "
		       "traced as a whole are not listed",
	.needs = {NSX_NEED_VIEW(kernel)},
	NSX_LAYOUTS(layouts));
