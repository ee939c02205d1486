/* launch_latency.c - from the call to the kernel: time in the queue.
 *
 * Signed throughout: clocks of host and device differ by a little, and a kernel
 * may well start before its call returns.
 */
#include <string.h>
#include "passes/pass.h"
#include "base/stat.h"
#include "passes/host/launch_queue.h"
#include "report/words.h"

enum { TOP_ROWS = 100 };

#define COLUMNS(X)                                                            \
	X(KERNEL, "kernel_name", STR, "full name")                            \
	X(DEVICE, "device_id", I64, "CUDA ordinal")                           \
	X(PID, "pid", I64, "process")                                         \
	X(TID, "tid", I64, "thread that launched it")                         \
	X(API, "api_name", STR, "the call")                                   \
	X(CALLED, "launch_start_ns", I64, "the call begins")                  \
	X(RETURNED, "launch_end_ns", I64, "the call has returned")            \
	X(BEGAN, "kernel_start_ns", I64, "the kernel begins")                 \
	X(DELAY, "queue_delay_us", F64,                                       \
	  "from the call's begin to the kernel's")                            \
	X(AFTER, "post_return_us", F64,                                       \
	  "from the call's return to the kernel's begin, negative if it "     \
	  "began before")
NSX_COLUMNS(cols, COLUMNS);
#define BIN_COLUMNS(X)                                                        \
	X(B_START, "bin_start_us", F64,                                       \
	  "queue delay from here on; empty: no bound")                        \
	X(B_END, "bin_end_us", F64, "to below this; empty: no bound")         \
	X(B_COUNT, "count", I64, "kernels")
NSX_COLUMNS(bin_cols, BIN_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "rows", NSX_COLS(cols), .json_rows = -1},
	{.key = "histogram", .csv = "launch_latency_histogram",
	 NSX_COLS(bin_cols), .json_rows = -1},
	{.key = "queue_depth", NSX_COLS(nsx_launch_queue_cols)},
};

struct launched { /* kernels with a call, one of a graph launch */
	const struct nsx_trace *t;
	uint32_t *first; /* see first_of_graphs; NULL: no graph launches     */
	int64_t *ns;	 /* of each, delay or time after the return          */
	size_t n;
	uint32_t top[TOP_ROWS]; /* the longest delays                        */
	size_t ntop;
};

static int64_t delay_of(const struct nsx_trace *t, uint32_t op)
{
	return nsx_op_start(&t->ops, op) -
	       nsx_call_start(&t->calls, t->ops.call[op]);
}

/* The kernel of each graph launch that starts first, by call. */
static int first_of_graphs(struct launched *l, struct nsx_arena *a,
			   struct nsx_err *err)
{
	const struct nsx_trace *t = l->t;

	for (uint32_t i = 0; i < t->ops.n; i++) {
		uint32_t call = t->ops.call[i];

		if (t->ops.kind[i] != NSX_OP_KERNEL || call == NSX_NONE ||
		    !(t->calls.flags[call] & NSX_CALL_GRAPH))
			continue;
		if (!l->first) {
			if (!nsx_new_array(l->first, a, t->calls.n,
					   "graph launches", err))
				return err->rc;
			memset(l->first, 0xff, t->calls.n * sizeof(*l->first));
		}
		if (l->first[call] == NSX_NONE ||
		    nsx_op_start(&t->ops, i) <
			nsx_op_start(&t->ops, l->first[call]))
			l->first[call] = i;
	}
	return 0;
}

static bool is_launched(const struct launched *l, uint32_t op)
{
	const struct nsx_trace *t = l->t;
	uint32_t call = t->ops.call[op];

	return t->ops.kind[op] == NSX_OP_KERNEL && call != NSX_NONE &&
	       nsx_op_counts(t, op) &&
	       (!(t->calls.flags[call] & NSX_CALL_GRAPH) ||
		l->first[call] == op);
}

/* The longest delays ---------------------------------------------------------*/

static bool is_longer(const struct nsx_trace *t, uint32_t a, uint32_t b)
{
	int64_t da = delay_of(t, a), db = delay_of(t, b);
	int c;

	if (da != db)
		return da > db;
	if (nsx_op_start(&t->ops, a) != nsx_op_start(&t->ops, b))
		return nsx_op_start(&t->ops, a) < nsx_op_start(&t->ops, b);
	c = nsx_str_cmp(t->strings, nsx_op_name(t, a), nsx_op_name(t, b));
	return c ? c < 0 : t->ops.call[a] < t->ops.call[b];
}

static void offer(struct launched *l, uint32_t op)
{
	size_t i;

	if (l->ntop == TOP_ROWS &&
	    !is_longer(l->t, op, l->top[TOP_ROWS - 1]))
		return;
	l->ntop += l->ntop < TOP_ROWS;
	for (i = l->ntop - 1; i > 0 && is_longer(l->t, op, l->top[i - 1]); i--)
		l->top[i] = l->top[i - 1];
	l->top[i] = op;
}

static void add_row(const struct nsx_trace *t, uint32_t op, uint32_t device,
		    struct nsx_table *table)
{
	uint32_t call = t->ops.call[op];
	const struct nsx_thread *th = &t->thread[nsx_call_thread(t, call)];
	struct nsx_cell *row = nsx_add_row(table);

	row[KERNEL] = nsx_string(nsx_text(t, nsx_op_name(t, op)));
	row[DEVICE] = nsx_int(t->device[device].device_id);
	row[PID] = nsx_int(t->process[th->process].pid);
	row[TID] = nsx_int(th->tid);
	row[API] = nsx_string(nsx_call_text(t, call));
	row[CALLED] = nsx_int(nsx_call_start(&t->calls, call));
	row[RETURNED] = nsx_int(nsx_call_end(&t->calls, call));
	row[BEGAN] = nsx_int(nsx_op_start(&t->ops, op));
	row[DELAY] = nsx_us((double)delay_of(t, op));
	row[AFTER] = nsx_us((double)(nsx_op_start(&t->ops, op) -
				     nsx_call_end(&t->calls, call)));
}

static void fill_rows(const struct launched *l, struct nsx_table *table)
{
	const struct nsx_trace *t = l->t;

	for (size_t i = 0; i < l->ntop; i++)
		add_row(t, l->top[i],
			nsx_stream_of(t, l->top[i])->device, table);
	table->capped = l->n > l->ntop;
}

/* Figures of all ---------------------------------------------------------------*/

/* Fills ns, which quantiles reorder. */
static void collect(struct launched *l, bool after)
{
	const struct nsx_trace *t = l->t;

	l->n = 0;
	for (uint32_t i = 0; i < t->ops.n; i++)
		if (is_launched(l, i))
			l->ns[l->n++] =
			    after ? nsx_op_start(&t->ops, i) -
					nsx_call_end(&t->calls, t->ops.call[i])
				  : delay_of(t, i);
}

/* Leaves ns with the time after the return. */
static void put_summary(struct nsx_section *out, struct launched *l)
{
	static const double qs[] = {0.5, 0.95, 0.99};
	double q[3], sum = 0;
	int64_t most = INT64_MIN, early = 0, negative = 0;

	for (size_t i = 0; i < l->n; i++) {
		sum += (double)l->ns[i];
		most = NSX_MAX(most, l->ns[i]);
		negative += l->ns[i] < 0;
	}
	nsx_quantiles(l->ns, l->n, qs, 3, q);
	collect(l, true);
	for (size_t i = 0; i < l->n; i++)
		early += l->ns[i] < 0;
	nsx_put(out, "summary.count", nsx_int((int64_t)l->n));
	nsx_put(out, "summary.mean_us", nsx_us(sum / (double)l->n));
	nsx_put(out, "summary.p50_us", nsx_us(q[0]));
	nsx_put(out, "summary.p95_us", nsx_us(q[1]));
	nsx_put(out, "summary.p99_us", nsx_us(q[2]));
	nsx_put(out, "summary.max_us", nsx_us((double)most));
	nsx_put(out, "summary.negative_count", nsx_int(negative));
	nsx_put(out, "summary.started_before_return_count", nsx_int(early));
	nsx_put(out, "summary.p50_post_return_us",
		nsx_us(nsx_quantile(l->ns, l->n, 0.5)));
	nsx_md_bullet(out,
		"From launch call to kernel: median **%s**, p95 %s, p99 %s, "
		"longest %s, over %s; %lld began before the call returned",
		nsx_text_ns(out->arena, q[0]), nsx_text_ns(out->arena, q[1]),
		nsx_text_ns(out->arena, q[2]),
		nsx_text_ns(out->arena, (double)most),
		nsx_text_n(out->arena, l->n, "kernel", NULL),
		      (long long)early);
}

/* Bounds 1, 2, 5, 10, ... us; one bin below 0 and one from 0 to 1 us. */
static void fill_histogram(const struct launched *l, struct nsx_table *table)
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
		       l->ns[i] >= bounds[b] * 1000)
			b++;
		count[b]++;
		first = NSX_MIN(first, b);
		last = NSX_MAX(last, b);
	}
	for (size_t b = first; b <= last; b++) {
		struct nsx_cell *row = nsx_add_row(table);

		if (b)
			row[B_START] = nsx_real((double)bounds[b - 1]);
		if (b < ARRAY_LEN(bounds))
			row[B_END] = nsx_real((double)bounds[b]);
		row[B_COUNT] = nsx_int(count[b]);
	}
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	struct nsx_table *rows = nsx_add_table(out, &layouts[0]);
	struct nsx_table *bins = nsx_add_table(out, &layouts[1]);
	struct nsx_table *queue = nsx_add_table(out, &layouts[2]);
	struct launched l = {.t = run->trace};

	nsx_new_array(l.ns, run->scratch, run->trace->ops.n, "launches", err);
	if (!l.ns || first_of_graphs(&l, run->scratch, err))
		return err->rc;
	collect(&l, false);
	if (!l.n)
		return nsx_cannot(out, "no kernel in the window has an API "
				       "call with its correlation id");
	for (uint32_t i = 0; i < run->trace->ops.n; i++)
		if (is_launched(&l, i))
			offer(&l, i);
	nsx_md_heading(out, "Waits and launches");
	fill_histogram(&l, bins);
	put_summary(out, &l);
	nsx_arena_drop(run->scratch, l.ns);
	fill_rows(&l, rows);
	if (nsx_fill_launch_queue(run, queue, err))
		return err->rc;
	nsx_note(out, "measured from the begin of the call: nsys-llm-explain "
		      "measures from its return and clips at 0. A long delay "
		      "while the GPU works is a healthy lead of the host");
	return 0;
}

NSX_DEFINE_PASS(launch_latency) {
	.id = "launch_latency",
	.no_title = "shown under the launch storm",
	.summary = "from launch call to kernel start; queue depth per stream",
	.doc = "For each kernel with an API call (of a graph launch the first "
	       "kernel only): queue_delay = kernel start - call start, "
	       "post_return = kernel start - call end, both signed. "
	       "queue_depth: one more at each call's start, one less when its "
	       "first work starts, weighted by time; empty while the device "
	       "idles is starved, a long delay while it works is a healthy "
	       "lead.",
	.needs = {NSX_NEED_VIEW(kernel), NSX_NEED_VIEW(runtime)},
	NSX_LAYOUTS(layouts),
	.run = run,
};
