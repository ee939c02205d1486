/* launch_storm.c - the rate of kernels, how short they are, and whether the GPU waits for
 * launches.
 */
#include "passes/pass.h"
#include "passes/host/storm.h"

enum { TINY_US = 5, TINY_ROWS = 20, SHORT_GAP_NS = 1000000 };

#define TINY_COLUMNS(X)                                                       \
	X(TINY_KERNEL_NAME, "kernel_name", STR, "full name")                  \
	X(TINY_CALL_COUNT, "call_count", I64, "executions")                   \
	X(TINY_AVG_DURATION_US, "avg_duration_us", F64, "mean duration, at most 5")
NSX_COLUMNS(tiny_cols, TINY_COLUMNS);
#define LAUNCHER_COLUMNS(X)                                                                        \
	X(LAUNCHER_PID, "pid", I64, "process")                                                     \
	X(LAUNCHER_TID, "tid", I64, "thread that launches")                                        \
	X(LAUNCHER_DEVICE, "device_id", I64, "CUDA ordinal")                                       \
	X(LAUNCHER_CALLS, "launch_calls", I64, "calls that started GPU work on this device")       \
	X(LAUNCHER_OPS, "gpu_ops", I64, "kernels, copies and memsets started by these calls")      \
	X(LAUNCHER_BOUND, "launch_bound_ms", F64,                                                  \
	  "device idle time in gaps below 1 ms that ended after such a call returned")
NSX_COLUMNS(launcher_cols, LAUNCHER_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "tiny_kernels", NSX_COLS(tiny_cols), .json_rows = TINY_ROWS},
	{.key = "launchers", NSX_COLS(launcher_cols)},
};

/* Kernels ---------------------------------------------------------------------*/

struct kernels {
	int64_t *ns; /* durations of the counted kernels */
	size_t n;
	int64_t first_ns, last_ns;
	struct nsx_cell figure[NSX_STORM_NCOLUMNS];
};
#define FIGURES(X) NSX_STORM_COLUMNS(X, "")
NSX_COLUMNS(figures, FIGURES);

static bool is_counted_kernel(const struct nsx_trace *t, size_t op)
{
	return t->ops.kind[op] == NSX_OP_KERNEL && nsx_op_counts(t, op);
}

static int read_kernels(const struct nsx_run *run, struct kernels *k, struct nsx_err *err)
{
	const struct nsx_ops *o = &run->trace->ops;

	k->first_ns = INT64_MAX;
	k->last_ns = INT64_MIN;
	if (!nsx_new_array(k->ns, run->scratch, o->n, "kernel durations", err))
		return err->rc;
	for (size_t i = 0; i < o->n; i++) {
		if (!is_counted_kernel(run->trace, i))
			continue;
		k->ns[k->n++] = nsx_op_ns(o, i);
		k->first_ns = NSX_MIN(k->first_ns, nsx_op_start(o, i));
		k->last_ns = NSX_MAX(k->last_ns, nsx_op_end(o, i));
	}
	return 0;
}

static void put_kernels(struct kernels *k, struct nsx_section *out)
{
	nsx_storm_cells(k->ns, k->n, k->last_ns - k->first_ns, k->figure);
	for (unsigned i = 0; i < NSX_STORM_NCOLUMNS; i++)
		nsx_put(out, figures[i].key, k->figure[i]);
	for (int i = 0; i < 2; i++) {
		const struct nsx_storm_threshold *x = &nsx_storm_thresholds[i];

		nsx_put(out, nsx_say(out, "storm_thresholds.launches_per_s_threshold_%d", i + 1),
			nsx_int((int64_t)x->launches_per_s));
		nsx_put(out, nsx_say(out, "storm_thresholds.p50_kernel_us_threshold_%d", i + 1),
			nsx_int((int64_t)x->p50_kernel_us));
	}
	nsx_put(out, "tiny_kernel_us", nsx_int(TINY_US));
}

struct sum { /* Sum of a kernel name. There may be many names, most with one or two launches. */
	int64_t ns;
	uint32_t n;
	nsx_str name;
};

NSX_KEY_IN(launch_count_key, struct sum, struct nsx_trace, -(int64_t)x->n);

NSX_ORDER_IN(launch_storm_cmp_sums, struct sum, struct nsx_trace, DOWN(x->n),
	     UP(c->rank[x->name]));

static int fill_shortest_kernels(const struct nsx_run *run, struct nsx_table *table,
				 struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_kernel_names *k = &run->facts->kernels;
	struct sum *v;
	size_t n = 0;

	if (!nsx_new_array(v, run->scratch, k->n, "kernel names", err))
		return err->rc;
	for (size_t i = 0; i < t->ops.n; i++) {
		struct sum *x;

		if (!is_counted_kernel(t, i))
			continue;
		x = &v[k->of_shape[nsx_op_detail(&t->ops, i)]];
		x->name = nsx_op_name(t, i);
		x->n++;
		nsx_add_to(&x->ns, nsx_op_ns(&t->ops, i));
	}
	for (size_t i = 0; i < k->n; i++)
		if (v[i].n && v[i].ns <= (int64_t)v[i].n * TINY_US * 1000)
			v[n++] = v[i];
	nsx_table_expect(table, n, run->opts->held_rows);
	nsx_sort_by_key_r(v, n, table->max_rows ?: n, sizeof(*v), launch_count_key,
			  launch_storm_cmp_sums, (void *)t);
	for (size_t i = 0; i < n; i++) {
		struct nsx_cell *row = nsx_add_row(table);

		if (!nsx_table_holds(table))
			continue; /* rows beyond the limit have no sums */
		row[TINY_KERNEL_NAME] = nsx_name_cell(t, table, v[i].name);
		row[TINY_CALL_COUNT] = nsx_int(v[i].n);
		row[TINY_AVG_DURATION_US] = nsx_mean_us(v[i].ns, v[i].n);
	}
	return 0;
}

/* Launch-bound time (queries/README.md 9), by thread and device ------------------*/

struct launchers {
	struct nsx_groups groups; /* (thread, device)                        */
	struct launcher {
		int64_t calls, ops, bound_ns;
	} *v;
};

/* The time in gaps below 1 ms until the return of the call that launched the next operation:
 * queries/README.md 9.
 */
static int64_t host_late_ns(const struct nsx_trace *t, const struct nsx_gap *gap)
{
	uint32_t call = gap->op == NSX_NONE ? NSX_NONE : nsx_op_call(&t->ops, gap->op), first;

	if (call == NSX_NONE || gap->end_ns - gap->start_ns >= SHORT_GAP_NS ||
	    nsx_call_end(&t->calls, call) <= gap->start_ns)
		return 0;
	first = nsx_call_op(&t->calls, call);
	if (first != gap->op &&
	    nsx_stream_of(t, first)->device == nsx_stream_of(t, gap->op)->device)
		return 0; /* a later node of a graph costs the host nothing */
	return NSX_MIN(gap->end_ns, nsx_call_end(&t->calls, call)) - gap->start_ns;
}

static void launch_storm_sweep_device(const struct nsx_run *run, uint32_t device,
				      struct launchers *l)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_device *d = &t->device[device];
	struct launcher *x;
	struct nsx_gap gap;

	for (uint32_t i = d->ops_at; i < d->ops_at + d->nops; i++) {
		uint32_t call = nsx_op_call(&t->ops, i);

		if (call == NSX_NONE || !nsx_op_counts(t, i))
			continue;
		x = nsx_group_few(&l->groups, &l->v, nsx_call_thread(t, call), device);
		x->calls += nsx_call_op(&t->calls, call) == i;
		x->ops++;
	}
	for (size_t at = 0; nsx_next_gap(&run->facts->idle[device], &at, &gap);) {
		int64_t ns = host_late_ns(t, &gap);

		if (!ns)
			continue;
		x = nsx_group_few(&l->groups, &l->v,
				  nsx_call_thread(t, nsx_op_call(&t->ops, gap.op)), device);
		nsx_add_to(&x->bound_ns, ns);
	}
}

/* Fills a row for each launcher; returns the sum of their launch-bound time. */
static int64_t fill_launchers(const struct nsx_run *run, struct launchers *l,
			      struct nsx_table *table)
{
	const struct nsx_trace *t = run->trace;
	int64_t bound_ns = 0;

	for (uint32_t d = 0; d < t->ndevices; d++)
		launch_storm_sweep_device(run, d, l);
	for (size_t g = 0; g < l->groups.n; g++) {
		const struct launcher *x = &l->v[g];
		const struct nsx_group_key key = nsx_group_key(&l->groups, g);
		const struct nsx_thread *th = &t->thread[key.a];
		struct nsx_cell *row = nsx_add_row(table);

		row[LAUNCHER_PID] = nsx_pid_cell(t, th->process);
		row[LAUNCHER_TID] = nsx_int(th->tid);
		row[LAUNCHER_DEVICE] = nsx_device_cell(t, (uint32_t)key.b);
		row[LAUNCHER_CALLS] = nsx_int(x->calls);
		row[LAUNCHER_OPS] = nsx_int(x->ops);
		row[LAUNCHER_BOUND] = nsx_ms(x->bound_ns);
		nsx_add_to(&bound_ns, x->bound_ns);
	}
	nsx_table_sort(table, NSX_DESC(LAUNCHER_BOUND),
		       NSX_DESC(LAUNCHER_CALLS), LAUNCHER_PID, LAUNCHER_TID, LAUNCHER_DEVICE);
	return bound_ns;
}

/* By iteration ------------------------------------------------------------------*/

struct cursor { /* position on one device */
	uint32_t op;
	size_t at; /* index into the idle gaps */
	struct nsx_gap gap;
	bool has_gap;
};

/* Counts kernels, calls and launch-bound time that begin in an iteration; iterations ascend
 * by start.
 */
static void count_iteration(const struct nsx_run *run,
			    const struct nsx_iteration *it, struct cursor *c, int64_t *ret)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_device *d = &t->device[it->device];
	const struct nsx_idle *idle = &run->facts->idle[it->device];

	ret[0] = ret[1] = ret[2] = 0;
	for (; c->op < d->ops_at + d->nops && nsx_op_start(&t->ops, c->op) < it->end_ns; c->op++) {
		uint32_t call = nsx_op_call(&t->ops, c->op);

		if (nsx_op_start(&t->ops, c->op) < it->start_ns)
			continue;
		ret[0] += t->ops.kind[c->op] == NSX_OP_KERNEL;
		ret[1] += call != NSX_NONE && nsx_call_op(&t->calls, call) == c->op;
	}
	while (c->has_gap && c->gap.start_ns < it->end_ns) {
		if (c->gap.start_ns >= it->start_ns)
			ret[2] += host_late_ns(t, &c->gap);
		c->has_gap = nsx_next_gap(idle, &c->at, &c->gap);
	}
}

static void put_per_iteration(const struct nsx_run *run, struct nsx_section *out)
{
	const struct nsx_loop *loop = nsx_pacing_loop(run->facts);
	const struct nsx_iteration *it;
	struct cursor c = {.at = 0};
	int64_t *v[3], figure[3];
	size_t n, k = 0;

	if (!loop)
		return;
	it = loop->v;
	n = loop->n;
	for (unsigned i = 0; i < 3; i++)
		nsx_few(v[i], run->scratch, n);
	c.op = run->trace->device[it->device].ops_at;
	c.has_gap = nsx_next_gap(&run->facts->idle[it->device], &c.at, &c.gap);
	for (size_t i = 0; i < n; i++) {
		count_iteration(run, &it[i], &c, figure);
		if (!it[i].steady)
			continue;
		for (unsigned j = 0; j < 3; j++)
			v[j][k] = figure[j];
		k++;
	}
	if (!k)
		return;
	nsx_put(out, "per_iteration.device_id", nsx_device_cell(run->trace, it->device));
	nsx_put(out, "per_iteration.iterations", nsx_int((int64_t)k));
	nsx_put(out, "per_iteration.kernels", nsx_real(nsx_quantile(v[0], k, 0.5)));
	nsx_put(out, "per_iteration.launch_calls", nsx_real(nsx_quantile(v[1], k, 0.5)));
	nsx_put(out, "per_iteration.launch_bound_ms", nsx_real(nsx_quantile(v[2], k, 0.5) / 1e6));
}

/* Adds launch_calls, launch_bound_ms, per_iteration, and rows of launchers. Returns the launch-bound
 * time; -1 if it is unknown, because no call has a correlation id that matches.
 */
static int64_t put_launching(const struct nsx_run *run, struct nsx_section *out,
			     struct nsx_table *table)
{
	const struct nsx_trace *t = run->trace;
	NSX_AT_EXIT(nsx_sums_done) struct launchers l = {.v = NULL};
	int64_t calls = 0, bound_ns;

	for (size_t i = 0; i < t->calls.n; i++)
		calls += t->calls.cls[i] == NSX_CALL_LAUNCH &&
			 !(t->calls.flags[i] & NSX_CALL_NESTED) &&
			 nsx_starts_inside(t, nsx_call_start(&t->calls, i));
	if (!t->matching.matched) {
		nsx_put(out, "launch_calls", nsx_has_view(t->schema,
							  NSX_VIEW_runtime) ?
						     nsx_int(calls) :
						     nsx_null());
		nsx_put(out, "launch_bound_ms", nsx_null());
		nsx_note(out, "no kernel has an API call: whether the GPU "
			      "waited for launches is not known");
		return -1;
	}
	bound_ns = fill_launchers(run, &l, table);
	nsx_put(out, "launch_calls", nsx_int(calls));
	nsx_put(out, "launch_bound_ms", nsx_ms(bound_ns));
	put_per_iteration(run, out);
	return bound_ns;
}

/* The section -----------------------------------------------------------------*/

static void say_kernels(struct nsx_section *out, const struct nsx_cell *f,
			int64_t bound_ns, uint32_t ndevices)
{
	long long n = f[STORM_LAUNCHES].u.i;
	double per_s = f[STORM_RATE].type ? f[STORM_RATE].u.f : 0;

	nsx_headline(out, "Launch storm: %lld launches over %.3fs = %.1f launches/s; median kernel "
		     "%.2f us", n, f[STORM_WINDOW].u.f, per_s, f[STORM_P50].u.f);
	if (n == 1) {
		nsx_md_bullet(out, "1 kernel of %s",
			      nsx_text_ns(out->arena, f[STORM_P50].u.f * 1e3));
		return;
	}
	nsx_md_bullet(out, "%s over %s, %s a second%s; duration median %s, p90 %s, p99 %s%s",
		nsx_text_n(out->arena, (size_t)n, "kernel", NULL),
		nsx_text_ns(out->arena, f[STORM_WINDOW].u.f * 1e9),
		nsx_text_count(out->arena, per_s),
		f[STORM_FLAG].u.b ? ": so many and so short that they are a launch storm" : "",
		nsx_text_ns(out->arena, f[STORM_P50].u.f * 1e3),
		nsx_text_ns(out->arena, f[STORM_P90].u.f * 1e3),
		nsx_text_ns(out->arena, f[STORM_P99].u.f * 1e3),
		bound_ns <= 0 ? "" :
		nsx_say(out, "; in gaps below 1 ms %s **%s** for the next launch",
			ndevices > 1 ? "GPUs waited" : "the GPU waited",
			nsx_say_time(out, bound_ns)));
}

static int launch_storm_run(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	struct nsx_table *tiny = nsx_add_table(out, &layouts[0]);
	struct nsx_table *launchers = nsx_add_table(out, &layouts[1]);
	struct kernels k = {0};
	int64_t bound_ns;

	if (read_kernels(run, &k, err))
		return err->rc;
	if (!k.n)
		return nsx_cannot(out, "no kernel began in the window");
	put_kernels(&k, out);
	nsx_arena_drop(run->scratch, k.ns);
	if (fill_shortest_kernels(run, tiny, err))
		return err->rc;
	bound_ns = put_launching(run, out, launchers);
	run->measured->storm.is_storm = k.figure[STORM_FLAG].u.b;
	run->measured->storm.per_s = k.figure[STORM_RATE].u.f;
	run->measured->storm.median_ns = k.figure[STORM_P50].u.f * 1e3;
	run->measured->storm.bound_ns = bound_ns;
	say_kernels(out, k.figure, bound_ns, run->trace->ndevices);
	return 0;
}

NSX_DEFINE_PASS(launch_storm,
	.title = "Waits and launches",
	.summary = "rate and size of kernels; time lost to late launches",
	.doc = "rate = kernels / (last kernel end - first kernel start). is_launch_storm: rate >= "
	       "50000/s and median <= 10 us, or rate >= 100000/s and median <= 20 us. pct_under_N: "
	       "share of kernels shorter than N us. tiny_kernels: kernel names with a mean "
	       "duration of at most 5 us. launch_bound: for each gap [a,b) of a device below 1 ms "
	       "that is ended by an op whose call r returned after a, min(b, r.end) - a is added. "
	       "launchers splits this time by thread and device.",
	.derived_from = "kernel rows; for launch-bound time also the API calls that launched the "
			"work that ends each gap",
	.limitations = "kernels inside a graph launch are counted one by one although one call "
		       "launched them",
	.caveat = "the flag is computed as in nsys-llm-explain, over all processes and devices; it "
		   "does not mean that time was lost: launch_bound_ms shows lost time",
	.needs = {NSX_NEED_VIEW(kernel)},
	NSX_LAYOUTS(layouts),
	.measures = true);
