/* launches.c - launch calls by thread and name, separating back-pressure.
 *
 * CUDA reports when a thread was held because the command buffer was full (overhead type
 * 8). Without an overhead table this is inferred from calls that are far too long while the
 * stream still works.
 */
#include "passes/pass.h"

enum {
	LONG_LAUNCH_NS = 1000000, LONG_MEDIANS = 50,
	/* MANY_QUEUED: operations that are queued before a held call */
	MANY_QUEUED = 200, HELD_NS = 20000,
};

#define COLUMNS(X)                                                                                 \
	X(PID, "pid", I64, "process")                                                              \
	X(TID, "tid", I64, "thread")                                                               \
	X(API, "api_name", STR, "the call, with its version suffix")                               \
	X(COUNT, "count", I64, "calls that began in the window", .adds = true)                     \
	X(TOTAL_MS, "total_time_ms", F64, "time inside the call", .adds = true)                    \
	X(BACKPRESSURE, "backpressure_ms", F64,                                                    \
	  "part of total_ms held because the GPU's queue was full", .adds = true)                  \
	X(CPU, "launch_cpu_ms", F64, "the rest of total_ms: the cost of "                          \
				     "launching", .adds = true)                                    \
	X(P50, "p50_us", F64, "median duration")                                                   \
	X(P99, "p99_us", F64, "99th percentile")
NSX_LAYOUT_OF(layout, COLUMNS, .key = "rows", .csv = "launches");

enum { P50_AT, P99_AT, QUANTILES };
struct launcher {
	size_t n, next; /* next: where its next duration is stored           */
	double quantile_ns[QUANTILES];
	int64_t ns, held_ns;
	/* calls from this length on count as held, if there is no overhead table */
	int64_t long_ns;
	size_t inferred;
};
struct work {
	struct nsx_groups groups; /* (thread, name)                          */
	struct launcher *v;
	const struct nsx_trace *t;
	struct nsx_arena *arena;
	bool is_measured;
};

static struct launcher *find_launcher(struct work *w, size_t call)
{
	struct launcher *x = nsx_group_few(&w->groups, &w->v, nsx_call_thread(w->t, call),
					   nsx_call_name(&w->t->calls, call));

	return x;
}

/* Collects the spans in which each thread was held. */
static int collect_held_spans(struct work *w, struct nsx_spans **ret, struct nsx_err *err)
{
	const struct nsx_overheads *o = &w->t->overheads;
	struct nsx_span *v;
	size_t n = 0;

	for (size_t i = 0; i < o->n; i++)
		n += o->type[i] == NSX_OVERHEAD_BUFFER_FULL;
	if (!nsx_new_array(v, w->arena, n, "overheads", err))
		return err->rc;
	nsx_few(*ret, w->arena, w->t->nthreads);
	for (size_t i = 0; i < o->n; i++) {
		struct nsx_spans *s = &(*ret)[o->thread[i]];

		if (o->type[i] != NSX_OVERHEAD_BUFFER_FULL)
			continue;
		if (!s->v)
			s->v = v;
		nsx_spans_push(s, o->start_ns[i], o->end_ns[i]);
		v = s->v + s->n;
	}
	return 0;
}

static int64_t window_part_ns(const struct nsx_trace *t, struct nsx_span s)
{
	return nsx_in_window(t, s.start_ns, s.end_ns);
}

/* Counts and sums launches; calls come thread by thread. */
static int sum_launches(struct work *w, struct nsx_err *err)
{
	const struct nsx_calls *c = &w->t->calls;
	const struct nsx_spans *h = NULL;
	struct nsx_spans *held = NULL;
	int64_t *prefix = NULL;

	if (collect_held_spans(w, &held, err))
		return err->rc;
	for (size_t i = 0; i < c->n; i++) {
		struct nsx_span s = {nsx_call_start(c, i), nsx_call_end(c, i)};
		struct launcher *x;

		if (c->cls[i] != NSX_CALL_LAUNCH)
			continue;
		x = find_launcher(w, i);
		if (h != &held[nsx_call_thread(w->t, i)]) {
			h = &held[nsx_call_thread(w->t, i)];
			if (nsx_spans_prefix(w->arena, h, &prefix, err))
				return err->rc;
		}
		x->n += nsx_starts_inside(w->t, s.start_ns);
		nsx_add_to(&x->ns, window_part_ns(w->t, s));
		if (nsx_has_window(w->t)) {
			s.start_ns = NSX_MAX(s.start_ns, w->t->window.start_ns);
			s.end_ns = NSX_MIN(s.end_ns, w->t->window.end_ns);
		}
		nsx_add_to(&x->held_ns, nsx_spans_within(h, prefix, s.start_ns, s.end_ns));
	}
	return 0;
}

/* Measures one thread's launchers [from, to). ns has room for all durations. */
static void measure_thread_launches(struct work *w, size_t from, size_t to, int64_t *ns)
{
	static const double qs[QUANTILES] = {0.5, 0.99};
	const struct nsx_calls *c = &w->t->calls;
	const struct nsx_thread *th = &w->t->thread[nsx_group_key(&w->groups, from).a];
	size_t at = 0;

	for (size_t g = from; g < to; g++) {
		w->v[g].next = at;
		at += w->v[g].n;
	}
	for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++) {
		struct launcher *x;

		if (c->cls[i] != NSX_CALL_LAUNCH || !nsx_starts_inside(w->t, nsx_call_start(c, i)))
			continue;
		x = find_launcher(w, i);
		ns[x->next++] = nsx_call_ns(c, i);
	}
	for (size_t g = from; g < to; g++)
		if (w->v[g].n)
			nsx_quantiles(ns + w->v[g].next - w->v[g].n, w->v[g].n,
				      qs, QUANTILES, w->v[g].quantile_ns);
}

/* Measures the durations of launch calls. Launchers are sorted by thread. */
static int measure_durations(struct work *w, struct nsx_err *err)
{
	const struct nsx_groups *keys = &w->groups;
	size_t most = 0;
	int64_t *ns;

	NSX_EACH_RUN(g, next, keys->n, nsx_group_key(keys, next).a == nsx_group_key(keys, g).a) {
		size_t n = 0;

		for (size_t k = g; k < next; k++)
			n += w->v[k].n;
		most = NSX_MAX(most, n);
	}
	if (!nsx_new_array(ns, w->arena, most, "launch durations", err))
		return err->rc;
	NSX_EACH_RUN(g, next, keys->n, nsx_group_key(keys, next).a == nsx_group_key(keys, g).a)
		measure_thread_launches(w, g, next, ns);
	nsx_arena_drop(w->arena, ns);
	return 0;
}

struct queue {
	uint32_t *op; /* operations, stream by stream                        */
	size_t *next; /* for each stream: the operation after the current one */
	size_t *begun; /* for each stream: the first operation that had not started */
};

static int list_ops_by_stream(struct work *w, struct queue *q, struct nsx_err *err)
{
	const struct nsx_trace *t = w->t;

	if (!nsx_new_array(q->op, w->arena, t->ops.n, "operations by stream", err))
		return err->rc;
	nsx_few(q->next, w->arena, (size_t)t->nstreams + 2);
	nsx_few(q->begun, w->arena, (size_t)t->nstreams + 2);
	NSX_DEAL(q->next, q->op, t->nstreams, t->ops.n, i, nsx_op_stream(&t->ops, i));
	memcpy(q->begun, q->next, t->nstreams * sizeof(*q->begun));
	return 0;
}

/* The number of operations queued on a stream before the current one that had not started. */
static size_t launches_queued_before(const struct nsx_ops *o, struct queue *q, uint32_t stream,
				     int64_t at_ns)
{
	size_t *begun = &q->begun[stream], own = q->next[stream];

	while (*begun < own && nsx_op_start(o, q->op[*begun]) <= at_ns)
		++*begun;
	return own - *begun;
}

/* Implements queries/README.md 8 without an overhead table: a call is held while the
 * previous operation on its stream runs.
 */
static int infer_held_calls(struct work *w, struct nsx_err *err)
{
	const struct nsx_trace *t = w->t;
	int64_t *until;
	struct queue q = {0};

	if (list_ops_by_stream(w, &q, err))
		return err->rc;
	nsx_few(until, w->arena, t->nstreams);
	for (uint32_t s = 0; s < t->nstreams; s++)
		until[s] = INT64_MIN;
	for (uint32_t i = 0; i < t->ops.n; i++) {
		uint32_t call = nsx_op_call(&t->ops, i), s = nsx_op_stream(&t->ops, i);
		int64_t before = until[s];
		struct launcher *x;
		struct nsx_span held;
		int64_t length;

		q.next[s]++;
		until[s] = NSX_MAX(before, nsx_op_end(&t->ops, i));
		if (call == NSX_NONE || nsx_call_op(&t->calls, call) != i ||
		    t->calls.cls[call] != NSX_CALL_LAUNCH)
			continue;
		held = (struct nsx_span){
		    nsx_call_start(&t->calls, call),
		    NSX_MIN(nsx_call_end(&t->calls, call), before)};
		x = find_launcher(w, call);
		length = nsx_call_ns(&t->calls, call);
		if (held.start_ns >= held.end_ns || length < HELD_NS ||
		    (length < x->long_ns &&
		     launches_queued_before(&t->ops, &q, s, held.start_ns) < MANY_QUEUED))
			continue;
		nsx_add_to(&x->held_ns, window_part_ns(t, held));
		x->inferred++;
	}
	return 0;
}

static void launches_fill_launches(struct work *w, struct nsx_table *table)
{
	for (size_t g = 0; g < w->groups.n; g++) {
		const struct launcher *x = &w->v[g];
		const struct nsx_group_key key = nsx_group_key(&w->groups, g);
		const struct nsx_thread *th = &w->t->thread[key.a];
		struct nsx_cell *row;

		if (!x->n && !x->ns)
			continue;
		row = nsx_add_row(table);
		row[PID] = nsx_pid_cell(w->t, th->process);
		row[TID] = nsx_int(th->tid);
		row[API] = nsx_string(nsx_text(w->t, (nsx_str)key.b));
		row[COUNT] = nsx_int((int64_t)x->n);
		row[TOTAL_MS] = nsx_ms(x->ns);
		if (w->is_measured || x->inferred) {
			row[BACKPRESSURE] = nsx_ms(x->held_ns);
			row[CPU] = nsx_ms(x->ns - x->held_ns);
		}
		if (!x->n)
			continue;
		row[P50] = nsx_us(x->quantile_ns[P50_AT]);
		row[P99] = nsx_us(x->quantile_ns[P99_AT]);
	}
	nsx_table_sort(table, NSX_DESC(TOTAL_MS), NSX_DESC(COUNT), PID, TID, API);
}

static void say_backpressure(const struct work *w, struct nsx_section *out, struct nsx_measured *m)
{
	int64_t ns = 0, held_ns = 0;
	size_t inferred = 0;

	for (size_t g = 0; g < w->groups.n; g++) {
		nsx_add_to(&ns, w->v[g].ns);
		nsx_add_to(&held_ns, w->v[g].held_ns);
		inferred += w->v[g].inferred;
	}
	nsx_put(out, "backpressure_source",
		nsx_string(w->is_measured ? "overhead" :
			   inferred	  ? "inferred" : NULL));
	if (!w->is_measured)
		nsx_note(out, "the trace has no CUDA overhead rows: whether the GPU's queue was "
			 "full is %s", inferred ?
			 "inferred from long launches during which the stream's previous work "
			 "still ran" :
			 "not known; no launch is long enough to show it");
	if (!w->is_measured && !inferred)
		return;
	nsx_md_bullet(out, "Launch calls take **%s** of host time%s",
		      nsx_say_time(out, ns), !held_ns ? "" :
		      nsx_say(out, ", **%s** of it held back because the GPU's queue was full%s",
			      nsx_say_time(out, held_ns), w->is_measured ? "" : " (inferred)"));
	m->launches.ns = ns;
	m->launches.held_ns = held_ns;
	m->launches.is_inferred = !w->is_measured;
}

static int launches_collect(struct work *w, struct nsx_err *err)
{
	if (sum_launches(w, err) || measure_durations(w, err))
		return err->rc;
	if (w->is_measured)
		return 0;
	for (size_t g = 0; g < w->groups.n; g++) {
		struct launcher *x = &w->v[g];

		if (x->n)
			x->long_ns = nsx_to_i64(LONG_MEDIANS * x->quantile_ns[P50_AT]);
		x->long_ns = NSX_MAX(x->long_ns, LONG_LAUNCH_NS);
	}
	return infer_held_calls(w, err);
}

static int launches_run(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	struct nsx_table *table = nsx_add_table(out, &layout);
	NSX_AT_EXIT(nsx_sums_done) struct work w = {.t = run->trace, .arena = run->scratch,
		.is_measured = run->trace->schema->table[NSX_VIEW_overhead] != NULL};

	nsx_md_heading(out, "Waits and launches");
	if (launches_collect(&w, err))
		return err->rc;
	launches_fill_launches(&w, table);
	say_backpressure(&w, out, run->measured);
	return 0;
}

NSX_DEFINE_PASS(launches,
	.subject = "CUDA calls",
	.summary = "launch calls by thread, with back-pressure shown separately",
	.doc = "Launch calls (kernels, cooperative and graph launches; a graph launch is one) by "
	       "process, thread and raw name. backpressure is the part of a call inside rows of "
	       "overhead type 8, command buffer full, of the same thread: the GPU's queue was "
	       "full, so the host was ahead. launch_cpu is the rest. Without an overhead table, a "
	       "call of at least 1 ms and 50 medians, or of at least 20 us behind 200 queued "
	       "operations, counts as held while the previous op of its stream ran; "
	       "backpressure_source is then \"inferred\".",
	.needs = {NSX_NEED_VIEW(runtime)},
	NSX_LAYOUT(layout),
	.measures = true);
