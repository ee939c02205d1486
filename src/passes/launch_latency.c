/* launch_latency.c - from the call to the kernel: time in the queue.
 *
 * Signed throughout: clocks of host and device differ by a little, and a kernel
 * may well start before its call returns.
 */
#include <string.h>
#include "nsx/pass.h"
#include "nsx/stat.h"
#include "passes/launch_queue.h"

enum { TOP_ROWS = 100 };

enum { KERNEL, DEVICE, PID, TID, API, CALLED, RETURNED, BEGAN, DELAY, AFTER };
static const struct nsx_col cols[] = {
	{"kernel_name", "full name", NSX_T_STR},
	{"device_id", "CUDA ordinal", NSX_T_I64},
	{"pid", "process", NSX_T_I64},
	{"tid", "thread that launched it", NSX_T_I64},
	{"api_name", "the call", NSX_T_STR},
	{"launch_start_ns", "the call begins", NSX_T_I64},
	{"launch_end_ns", "the call has returned", NSX_T_I64},
	{"kernel_start_ns", "the kernel begins", NSX_T_I64},
	{"queue_delay_us", "from the call's begin to the kernel's", NSX_T_F64},
	{"post_return_us", "from the call's return to the kernel's begin, "
			   "negative if it began before", NSX_T_F64},
};
enum { B_START, B_END, B_COUNT };
static const struct nsx_col bin_cols[] = {
	{"bin_start_us", "queue delay from here on; empty: no bound",
	 NSX_T_F64},
	{"bin_end_us", "to below this; empty: no bound", NSX_T_F64},
	{"count", "kernels", NSX_T_I64},
};
static const struct nsx_layout layouts[] = {
	{.key = "rows", NSX_COLS(cols), .json_rows = -1},
	{.key = "histogram", .csv = "launch_latency_histogram",
	 NSX_COLS(bin_cols), .json_rows = -1},
};

struct launched { /* kernels with a call, one of a graph launch */
	uint32_t *op;
	int64_t *delay_ns, *after_ns;
	size_t n;
};

static int64_t delay_of(const struct nsx_trace *t, uint32_t op)
{
	return t->ops.start_ns[op] - t->calls.start_ns[t->ops.call[op]];
}

/* The kernel of each graph launch that starts first, by call. */
static int first_of_graphs(const struct nsx_run *run, uint32_t **ret,
			   struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	uint32_t *first = nsx_arena_try_array(run->scratch, t->calls.n, 4,
					      "graph launches", err);

	if (!first)
		return err->rc;
	memset(first, 0xff, t->calls.n * sizeof(*first));
	for (uint32_t i = 0; i < t->ops.n; i++) {
		uint32_t call = t->ops.call[i];

		if (t->ops.kind[i] != NSX_OP_KERNEL || call == NSX_NONE ||
		    !(t->calls.flags[call] & NSX_CALL_GRAPH))
			continue;
		if (first[call] == NSX_NONE ||
		    t->ops.start_ns[i] < t->ops.start_ns[first[call]])
			first[call] = i;
	}
	*ret = first;
	return 0;
}

static int collect(const struct nsx_run *run, struct launched *l,
		   struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	struct nsx_arena *a = run->scratch;
	uint32_t *first = NULL;

	l->op = nsx_arena_try_array(a, t->ops.n, 4, "launches", err);
	l->delay_ns = nsx_arena_try_array(a, t->ops.n, 8, "launches", err);
	l->after_ns = nsx_arena_try_array(a, t->ops.n, 8, "launches", err);
	if (!l->op || !l->delay_ns || !l->after_ns ||
	    first_of_graphs(run, &first, err))
		return err->rc;
	for (uint32_t i = 0; i < t->ops.n; i++) {
		uint32_t call = t->ops.call[i];

		if (t->ops.kind[i] != NSX_OP_KERNEL || call == NSX_NONE ||
		    !nsx_op_counts(t, i) ||
		    ((t->calls.flags[call] & NSX_CALL_GRAPH) &&
		     first[call] != i))
			continue;
		l->op[l->n] = i;
		l->delay_ns[l->n] = delay_of(t, i);
		l->after_ns[l->n++] = t->ops.start_ns[i] -
				      t->calls.end_ns[call];
	}
	return 0;
}

/* The longest delays ---------------------------------------------------------*/

static bool is_longer(const struct nsx_trace *t, uint32_t a, uint32_t b)
{
	int64_t da = delay_of(t, a), db = delay_of(t, b);
	int c;

	if (da != db)
		return da > db;
	if (t->ops.start_ns[a] != t->ops.start_ns[b])
		return t->ops.start_ns[a] < t->ops.start_ns[b];
	c = nsx_str_cmp(t->strings, nsx_op_name(t, a), nsx_op_name(t, b));
	return c ? c < 0 : t->ops.call[a] < t->ops.call[b];
}

static int add_row(const struct nsx_trace *t, uint32_t op, uint32_t device,
		   struct nsx_table *table, struct nsx_err *err)
{
	uint32_t call = t->ops.call[op];
	const struct nsx_thread *th = &t->thread[nsx_call_thread(t, call)];
	struct nsx_cell *row = nsx_row(table, err);

	if (!row)
		return err->rc;
	row[KERNEL] = nsx_string(nsx_text(t, nsx_op_name(t, op)));
	row[DEVICE] = nsx_int(t->device[device].device_id);
	row[PID] = nsx_int(t->process[th->process].pid);
	row[TID] = nsx_int(th->tid);
	row[API] = nsx_string(nsx_text(t, t->calls.name[call]));
	row[CALLED] = nsx_int(t->calls.start_ns[call]);
	row[RETURNED] = nsx_int(t->calls.end_ns[call]);
	row[BEGAN] = nsx_int(t->ops.start_ns[op]);
	row[DELAY] = nsx_us((double)delay_of(t, op));
	row[AFTER] = nsx_us((double)(t->ops.start_ns[op] -
				     t->calls.end_ns[call]));
	return 0;
}

static int fill_rows(const struct nsx_trace *t, const struct launched *l,
		     struct nsx_table *table, struct nsx_err *err)
{
	uint32_t top[TOP_ROWS];
	size_t n = 0;

	for (size_t k = 0; k < l->n; k++) {
		size_t i;

		if (n == TOP_ROWS && !is_longer(t, l->op[k], top[n - 1]))
			continue;
		n += n < TOP_ROWS;
		for (i = n - 1; i > 0 && is_longer(t, l->op[k], top[i - 1]);
		     i--)
			top[i] = top[i - 1];
		top[i] = l->op[k];
	}
	for (size_t i = 0; i < n; i++)
		if (add_row(t, top[i], t->stream[t->ops.stream[top[i]]].device,
			    table, err))
			return err->rc;
	table->capped = l->n > n;
	return 0;
}

/* Figures of all ---------------------------------------------------------------*/

static void put_summary(struct nsx_section *out, struct launched *l)
{
	static const double qs[] = {0.5, 0.95, 0.99};
	double q[3], sum = 0;
	int64_t most = INT64_MIN, early = 0, negative = 0;

	for (size_t i = 0; i < l->n; i++) {
		sum += (double)l->delay_ns[i];
		most = NSX_MAX(most, l->delay_ns[i]);
		early += l->after_ns[i] < 0;
		negative += l->delay_ns[i] < 0;
	}
	nsx_quantiles(l->delay_ns, l->n, qs, 3, q);
	nsx_put(out, "summary.count", nsx_int((int64_t)l->n));
	nsx_put(out, "summary.mean_us", nsx_us(sum / (double)l->n));
	nsx_put(out, "summary.p50_us", nsx_us(q[0]));
	nsx_put(out, "summary.p95_us", nsx_us(q[1]));
	nsx_put(out, "summary.p99_us", nsx_us(q[2]));
	nsx_put(out, "summary.max_us", nsx_us((double)most));
	nsx_put(out, "summary.negative_count", nsx_int(negative));
	nsx_put(out, "summary.started_before_return_count", nsx_int(early));
	nsx_put(out, "summary.p50_post_return_us",
		nsx_us(nsx_quantile(l->after_ns, l->n, 0.5)));
	nsx_md_bullet(out, "From launch call to kernel: median **%.2f us**, "
		      "p95 %.2f, p99 %.2f, longest %.2f, over %zu kernels; "
		      "%lld began before their call returned", q[0] / 1e3,
		      q[1] / 1e3, q[2] / 1e3, (double)most / 1e3, l->n,
		      (long long)early);
}

/* Bounds 1, 2, 5, 10, ... us; one bin below 0 and one from 0 to 1 us. */
static int fill_histogram(const struct launched *l, struct nsx_table *table,
			  struct nsx_err *err)
{
	static const int64_t bounds[] = {
		0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000,
		20000, 50000, 100000, 200000, 500000, 1000000, 2000000, 5000000,
		10000000}; /* us */
	int64_t count[ARRAY_LEN(bounds) + 1] = {0};
	size_t first = ARRAY_LEN(bounds), last = 0;

	for (size_t i = 0; i < l->n; i++) {
		size_t b = 0;

		while (b < ARRAY_LEN(bounds) &&
		       l->delay_ns[i] >= bounds[b] * 1000)
			b++;
		count[b]++;
		first = NSX_MIN(first, b);
		last = NSX_MAX(last, b);
	}
	for (size_t b = first; b <= last; b++) {
		struct nsx_cell *row = nsx_row(table, err);

		if (!row)
			return err->rc;
		if (b)
			row[B_START] = nsx_real((double)bounds[b - 1]);
		if (b < ARRAY_LEN(bounds))
			row[B_END] = nsx_real((double)bounds[b]);
		row[B_COUNT] = nsx_int(count[b]);
	}
	return 0;
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	struct nsx_table *rows = nsx_add_table(out, &layouts[0]);
	struct nsx_table *bins = nsx_add_table(out, &layouts[1]);
	struct nsx_table *queue = nsx_add_table(out, &nsx_launch_queue_layout);
	struct launched l = {.n = 0};

	if (collect(run, &l, err))
		return err->rc;
	if (!l.n)
		return nsx_cannot(out, "no kernel in the window has an API "
				       "call with its correlation id");
	nsx_md_heading(out, "Global: launch storm");
	nsx_md_subheading(out, "From launch to kernel");
	put_summary(out, &l);
	if (fill_rows(run->trace, &l, rows, err) ||
	    fill_histogram(&l, bins, err) ||
	    nsx_fill_launch_queue(run, queue, err))
		return err->rc;
	nsx_md_table(out, bins, "bin_start_us,bin_end_us,count", 30);
	nsx_md_text(out, "How many launches wait on each stream, over time:");
	nsx_md_table(out, queue, "pid,device_id,stream_id,launches,"
				 "median_depth,max_depth,empty_pct,starved_ms",
		     8);
	nsx_note(out, "measured from the begin of the call: nsys-llm-explain "
		      "measures from its return and clips at 0. A long delay "
		      "while the GPU works is a healthy lead of the host");
	return 0;
}

NSX_DEFINE_PASS(launch_latency) {
	.id = "launch_latency",
	.summary = "from launch call to kernel start; queue depth per stream",
	.doc = "For each kernel with an API call (of a graph launch the first "
	       "kernel only): queue_delay = kernel start - call start, "
	       "post_return = kernel start - call end, both signed. "
	       "queue_depth: one more at each call's start, one less when its "
	       "first work starts, weighted by time; empty while the device "
	       "idles is starved, a long delay while it works is a healthy "
	       "lead.",
	.needs = {NSX_NEED_VIEW(kernel), NSX_NEED_VIEW(runtime)},
	.layouts = layouts,
	.nlayouts = ARRAY_LEN(layouts),
	.run = run,
};
