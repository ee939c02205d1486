/* launch_latency.c - from a launch call to its kernel: time in the queue, and queue depth.
 *
 * Times are signed: clocks of host and device differ slightly, and a kernel may start
 * before its call returns.
 */
#include "facts/queues.h"
#include "passes/pass.h"

enum { TOP_ROWS = 100 };

#define COLUMNS(X)                                                                                \
	X(KERNEL, "kernel_name", STR, "full name")                                                \
	X(DEVICE, "device_id", I64, "CUDA ordinal")                                               \
	X(PID, "pid", I64, "process")                                                             \
	X(TID, "tid", I64, "thread that launched it")                                             \
	X(API, "api_name", STR, "the call")                                                       \
	X(CALLED, "launch_start_ns", I64, "the call begins")                                      \
	X(RETURNED, "launch_end_ns", I64, "end of the call")                                      \
	X(BEGAN, "kernel_start_ns", I64, "the kernel begins")                                     \
	X(DELAY, "queue_delay_us", F64, "from the start of the call to the start of the kernel")  \
	X(AFTER, "post_return_us", F64,                                                           \
	  "from the return of the call to the start of the kernel; negative if the kernel began " \
	  "before the return")
NSX_COLUMNS(cols, COLUMNS);
#define BIN_COLUMNS(X)                                                                             \
	X(B_START, "bin_start_us", F64, "lower bound of the queue delay; empty: no bound")         \
	X(B_END, "bin_end_us", F64, "upper bound of the queue delay; empty: no bound")             \
	X(B_COUNT, "count", I64, "kernels")
NSX_COLUMNS(bin_cols, BIN_COLUMNS);
#define QUEUE_COLUMNS(X)                                                                           \
	X(QUEUE_PID, "pid", I64, "process")                                                        \
	X(QUEUE_DEVICE, "device_id", I64, "CUDA ordinal")                                          \
	X(QUEUE_CONTEXT, "context_id", I64, "CUDA context")                                        \
	X(QUEUE_STREAM, "stream_id", I64, "stream id in the context")                              \
	X(QUEUE_LAUNCHES, "launches", I64, "calls whose work ran on the stream")                   \
	X(QUEUE_MEDIAN, "median_depth", I64, "launched but not yet begun operations, median over " \
					     "time")                                               \
	X(QUEUE_MOST, "max_depth", I64, "most at once")                                            \
	X(QUEUE_EMPTY, "empty_pct", F64,                                                           \
	  "share of the time, from the first launch to the last start, with an empty queue")       \
	X(QUEUE_STARVED, "starved_ms", F64, "share of that time in which the queue was empty and " \
					    "the device idle")
NSX_COLUMNS(queue_cols, QUEUE_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "rows", NSX_COLS(cols), .json_rows = NSX_ALL_ROWS},
	{.key = "histogram", .csv = "launch_latency_histogram",
	 NSX_COLS(bin_cols), .json_rows = NSX_ALL_ROWS},
	{.key = "queue_depth", NSX_COLS(queue_cols)},
};

struct launched { /* kernels with a call, one per graph launch */
	const struct nsx_trace *t;
	uint32_t *first; /* by call: first kernel of a graph launch; NULL: no graph launch */
	int64_t *ns;	 /* for each kernel: delay from the call's start, or from its return */
	size_t n;
	struct delay {
		int64_t ns;
		uint32_t op;
	} top[TOP_ROWS]; /* the longest delays                               */
	size_t ntop;
};

static int64_t queue_delay_ns(const struct nsx_trace *t, uint32_t op)
{
	return nsx_op_start(&t->ops, op) - nsx_call_start(&t->calls, nsx_op_call(&t->ops, op));
}

/* Finds the earliest kernel of each graph launch, by call. */
static int find_first_graph_kernels(struct launched *l, struct nsx_arena *a, struct nsx_err *err)
{
	const struct nsx_trace *t = l->t;
	uint8_t flags = 0;

	for (size_t i = 0; i < t->calls.n; i++)
		flags |= t->calls.flags[i];
	for (uint32_t i = 0; flags & NSX_CALL_GRAPH && i < t->ops.n; i++) {
		uint32_t call = nsx_op_call(&t->ops, i);

		if (t->ops.kind[i] != NSX_OP_KERNEL || call == NSX_NONE ||
		    !(t->calls.flags[call] & NSX_CALL_GRAPH))
			continue;
		if (!l->first) {
			if (!nsx_new_array(l->first, a, t->calls.n, "graph launches", err))
				return err->rc;
			memset(l->first, 0xff, t->calls.n * sizeof(*l->first));
		}
		if (l->first[call] == NSX_NONE ||
		    nsx_op_start(&t->ops, i) < nsx_op_start(&t->ops, l->first[call]))
			l->first[call] = i;
	}
	return 0;
}

static bool is_launched(const struct launched *l, uint32_t op)
{
	const struct nsx_trace *t = l->t;
	uint32_t call = nsx_op_call(&t->ops, op);

	return t->ops.kind[op] == NSX_OP_KERNEL && call != NSX_NONE &&
	       nsx_op_counts(t, op) &&
	       (!(t->calls.flags[call] & NSX_CALL_GRAPH) ||
		l->first[call] == op);
}

/* The longest delays ---------------------------------------------------------*/

NSX_ORDER_IN(cmp_delays, struct delay, struct nsx_trace, DOWN(x->ns),
	     UP(nsx_op_start(&c->ops, x->op)),
	     BY(nsx_str_cmp(c->strings, nsx_op_name(c, x->op), nsx_op_name(c, y->op))),
	     UP(nsx_op_call(&c->ops, x->op)));

static void launch_latency_add_row(const struct nsx_trace *t, uint32_t op, struct nsx_table *table)
{
	uint32_t call = nsx_op_call(&t->ops, op);
	const struct nsx_thread *th = &t->thread[nsx_call_thread(t, call)];
	struct nsx_cell *row = nsx_add_row(table);

	row[KERNEL] = nsx_string(nsx_text(t, nsx_op_name(t, op)));
	row[DEVICE] = nsx_device_cell(t, nsx_stream_of(t, op)->device);
	row[PID] = nsx_pid_cell(t, th->process);
	row[TID] = nsx_int(th->tid);
	row[API] = nsx_string(nsx_call_text(t, call));
	row[CALLED] = nsx_int(nsx_call_start(&t->calls, call));
	row[RETURNED] = nsx_int(nsx_call_end(&t->calls, call));
	row[BEGAN] = nsx_int(nsx_op_start(&t->ops, op));
	row[DELAY] = nsx_us((double)queue_delay_ns(t, op));
	row[AFTER] = nsx_us((double)(nsx_op_start(&t->ops, op) - nsx_call_end(&t->calls, call)));
}

/* Summary of all -------------------------------------------------------------- */

/* Fills ns with delays, and collects the longest. Quantiles reorder ns. */
static void collect_delays(struct launched *l)
{
	for (uint32_t i = 0; i < l->t->ops.n; i++)
		if (is_launched(l, i)) {
			struct delay x = {queue_delay_ns(l->t, i), i};

			l->ns[l->n++] = x.ns;
			nsx_keep_first(l->top, &l->ntop, TOP_ROWS, &x, sizeof(x), cmp_delays,
				       (void *)l->t);
		}
}

/* Fills ns with delays after the call's return. */
static void collect_delays_after_return(struct launched *l)
{
	const struct nsx_trace *t = l->t;

	l->n = 0;
	for (uint32_t i = 0; i < t->ops.n; i++)
		if (is_launched(l, i))
			l->ns[l->n++] = nsx_op_start(&t->ops, i) -
					nsx_call_end(&t->calls,
						     nsx_op_call(&t->ops, i));
}

/* Adds the summary. Afterwards ns holds the delays after the return. */
static void put_delay_summary(struct nsx_section *out, struct launched *l)
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
	collect_delays_after_return(l);
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
	nsx_put(out, "summary.p50_post_return_us", nsx_us(nsx_quantile(l->ns, l->n, 0.5)));
	if (l->n == 1) {
		nsx_md_bullet(out, "From launch call to kernel: **%s**%s", nsx_say_time(out, most),
			      early ? "; it began before the call returned" : "");
		return;
	}
	nsx_md_bullet(out, "From launch call to kernel: median **%s**, p95 %s, p99 %s, longest %s, "
		"over %s%s", nsx_text_ns(out->arena, q[0]), nsx_text_ns(out->arena, q[1]),
		nsx_text_ns(out->arena, q[2]), nsx_say_time(out, most),
		nsx_text_n(out->arena, l->n, "kernel", NULL),
		early ? nsx_say(out, "; %lld began before the call returned",
				(long long)early) : "");
}

/* Fills bins that begin at 1, 2, 5, 10, ... us, a bin below 0, and a bin from 0 to 1 us. */
static void fill_histogram(const struct launched *l, struct nsx_table *table)
{
	static const int64_t bounds[] = {
		0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000,
		20000, 50000, 100000, 200000, 500000, 1000000, 2000000, 5000000,
		10000000}; /* upper bounds in us */
	int64_t count[ARRAY_LEN(bounds) + 1] = {0};
	size_t first = ARRAY_LEN(bounds), last = 0;

	for (size_t i = 0; i < l->n; i++) {
		size_t b = 0;

		while (b < ARRAY_LEN(bounds) && l->ns[i] >= bounds[b] * 1000)
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

/* Queues -----------------------------------------------------------------------*/

/* The queue depth of each stream over time (facts/queues.h). A stream is starved if its
 * queue is empty while its device is idle. A stream whose queue is never empty is fed, even
 * if its launches look slow.
 */

struct depths {
	struct nsx_queues of;
	/* State of the current stream: */
	int64_t *time_at; /* time at each depth, [0..most]                   */
	size_t cap, most;
	int64_t starved_ns; /* queue empty and device idle                   */
};

static void sweep_queue_depth(struct depths *q, const struct nsx_run *run, uint32_t stream)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_idle *idle = &run->facts->idle[t->stream[stream].device];
	size_t first = q->of.at[stream], n = q->of.at[stream + 1] - first;
	const int64_t *called = q->of.called_ns + first;
	const uint32_t *op = q->of.op + first;
	size_t depth = 0, i = 0, j = 0;
	int64_t at = called[0];

	q->most = 0;
	q->starved_ns = 0;
	nsx_grow_or_die(&q->time_at, &q->cap, 1, 8);
	q->time_at[0] = 0;
	while (j < n) {
		int64_t next = nsx_op_start(&t->ops, op[j]);

		if (i < n)
			next = NSX_MIN(called[i], next);

		q->time_at[depth] += next - at;
		if (!depth && next > at)
			q->starved_ns += nsx_idle_within(idle, at, next);
		at = next;
		for (; i < n && called[i] == at; i++) {
			if (++depth <= q->most)
				continue;
			nsx_grow_or_die(&q->time_at, &q->cap, depth + 1, 8);
			q->time_at[q->most = depth] = 0;
		}
		for (; j < n && nsx_op_start(&t->ops, op[j]) == at; j++)
			depth--;
	}
}

static void add_stream_queue(const struct nsx_run *run, struct depths *q,
			     uint32_t stream, struct nsx_table *table)
{
	const struct nsx_stream *s = &run->trace->stream[stream];
	size_t first = q->of.at[stream], n = q->of.at[stream + 1] - first;
	size_t median = 0;
	int64_t all = nsx_op_start(&run->trace->ops, q->of.op[first + n - 1]) -
		      q->of.called_ns[first];
	int64_t sum;
	struct nsx_cell *row = nsx_add_row(table);

	sweep_queue_depth(q, run, stream);
	for (sum = q->time_at[0]; median < q->most && sum <= all / 2;)
		sum += q->time_at[++median];
	row[QUEUE_PID] = nsx_pid_cell(run->trace, s->process);
	row[QUEUE_DEVICE] = nsx_device_cell(run->trace, s->device);
	row[QUEUE_CONTEXT] = nsx_int(s->context_id);
	row[QUEUE_STREAM] = nsx_int(s->stream_id);
	row[QUEUE_LAUNCHES] = nsx_int((int64_t)n);
	row[QUEUE_MEDIAN] = nsx_int((int64_t)median);
	row[QUEUE_MOST] = nsx_int((int64_t)q->most);
	row[QUEUE_EMPTY] = nsx_part_pct(q->time_at[0], all);
	row[QUEUE_STARVED] = nsx_ms(q->starved_ns);
}

static int fill_queues(const struct nsx_run *run, struct nsx_table *table, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	struct depths q = {0};
	int rc = 0;

	for (uint32_t d = 0; !rc && d < t->ndevices; d++) {
		rc = nsx_queues_build(t, d, run->scratch, &q.of, err);
		for (uint32_t s = 0; !rc && s < t->nstreams; s++)
			if (q.of.at[s] < q.of.at[s + 1])
				add_stream_queue(run, &q, s, table);
		if (!rc)
			nsx_queues_drop(&q.of, run->scratch);
	}
	free(q.time_at);
	nsx_table_sort(table, NSX_DESC(QUEUE_LAUNCHES), QUEUE_PID,
		       QUEUE_DEVICE, QUEUE_CONTEXT, QUEUE_STREAM);
	return rc;
}

static int launch_latency_run(const struct nsx_run *run, struct nsx_section *out,
			      struct nsx_err *err)
{
	struct nsx_table *rows = nsx_add_table(out, &layouts[0]);
	struct nsx_table *bins = nsx_add_table(out, &layouts[1]);
	struct nsx_table *queue = nsx_add_table(out, &layouts[2]);
	struct launched l = {.t = run->trace};

	nsx_new_array(l.ns, run->scratch, run->trace->ops.n, "launches", err);
	if (!l.ns || find_first_graph_kernels(&l, run->scratch, err))
		return err->rc;
	collect_delays(&l);
	if (!l.n)
		return nsx_cannot(out, "no kernel in the window has an API "
				       "call with its correlation id");
	nsx_md_heading(out, "Waits and launches");
	fill_histogram(&l, bins);
	put_delay_summary(out, &l);
	nsx_arena_drop(run->scratch, l.ns);
	for (size_t i = 0; i < l.ntop; i++)
		launch_latency_add_row(l.t, l.top[i].op, rows);
	return fill_queues(run, queue, err);
}

NSX_DEFINE_PASS(launch_latency,
	.summary = "time from launch call to kernel start; queue depth per stream",
	.doc = "For each kernel with an API call (of a graph launch the first kernel only): "
	       "queue_delay = kernel start - call start, post_return = kernel start - call end, "
	       "both signed. queue_depth: increases by one at each call's start and decreases by "
	       "one when its first work starts, weighted by time. An empty queue while the device "
	       "idles means that the device is starved; a long delay while the device works is a "
	       "healthy lead.",
	.caveat = "measured from the start of the call; nsys-llm-explain measures from its return "
		  "and clips at 0. A long delay while the GPU works is a healthy lead of the host",
	.needs = {NSX_NEED_VIEW(kernel), NSX_NEED_VIEW(runtime)},
	NSX_LAYOUTS(layouts));
