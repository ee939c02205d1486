/* clock.c - finds and corrects GPU times that disagree with the host's clock.
 *
 * The profiler converts GPU times to the host's clock, process by process. If that fails, they are
 * off by milliseconds or seconds. Cause and effect bound the error: no operation begins before its
 * call, and none ends after a call that waited for it returned. Where zero is outside these
 * bounds, all GPU times of the process on that device are shifted by a value inside.
 *
 * Each bound may be contradicted by a sixteenth of the rows, and by two at least, because single
 * rows are wrong for other reasons (impossible.c).
 */
#include "base/stat.h"
#include "trace/load.h"

enum {
	TOLERANCE_NS = 20000, /* clock conversion is exact to microseconds */
	NARROW_NS = 100000,   /* if the bounds are this close, their middle is the shift */
	LEAST_ROWS = 3,       /* rows needed for a bound */
	SHARE = 16,           /* one row in SHARE may contradict a bound */
	COPY_DTOH = 2, MEM_PAGEABLE = 0, /* ENUM_CUDA_MEMCPY_OPER, _MEM_KIND  */
};

#define FARTHEST_NS 1000000000000 /* greater differences are ignored, so sums cannot overflow */

/* One row's evidence about a clock. */
struct bound {
	uint32_t clock;
	/* an upper bound of the shift: no operation ends after a call that waited for it */
	bool is_late;
	int64_t ns;
};

NSX_ORDER(cmp_bounds, struct bound, UP(clock), UP(is_late), UP(ns));

/* The GPU work that a thread has queued so far. */
struct queued {
	uint32_t *thread; /* for each stream: 1 + the thread that set end_ns */
	int64_t *end_ns;  /* for each stream: latest end of the thread's operations */
	int64_t last_ns;  /* latest end on any stream                        */
	uint32_t first;	  /* stream of the first operation; NSX_NONE: none   */
	bool is_mixed;	  /* the thread's streams belong to several clocks or contexts */
};

struct aligner {
	struct nsx_loader *l;
	uint32_t *clock; /* for each stream: its clock's index */
	struct bound *bounds;
	size_t nbounds;
	uint64_t *waits; /* call << 32 | row of syncs, ascending */
	size_t nwaits;
	struct queued q;
};

/* Numbers the clocks, in order of device, then process, as streams are. */
static void number_clocks(struct aligner *x, struct nsx_arena *a)
{
	struct nsx_trace *t = x->l->t;

	nsx_few(x->clock, a, t->nstreams);
	nsx_few(t->clock, t->arena, t->nstreams);
	for (uint32_t s = 0; s < t->nstreams; s++) {
		const struct nsx_stream *st = &t->stream[s];

		if (!s || st[-1].device != st->device || st[-1].process != st->process)
			t->clock[t->nclocks++] = (struct nsx_clock){
				.process = st->process, .device = st->device};
		x->clock[s] = t->nclocks - 1;
	}
}

static int clock_list_waits(struct aligner *x, struct nsx_arena *a, struct nsx_err *err)
{
	const struct nsx_loader *l = x->l;

	if (!nsx_new_array(x->waits, a, l->sync_set.n, "waits", err))
		return err->rc;
	for (size_t i = 0; i < l->sync_set.n; i++) {
		uint32_t p = l->t->syncs.process[i];
		uint32_t call = p != NSX_NONE && l->t->syncs.call[i] ?
			nsx_host_call(l, p, l->t->syncs.call[i], l->t->syncs.start_ns[i]) : NSX_NONE;

		if (call != NSX_NONE && (l->t->syncs.type[i] == NSX_SYNC_CONTEXT ||
					 l->t->syncs.type[i] == NSX_SYNC_STREAM))
			x->waits[x->nwaits++] = (uint64_t)call << 32 | i;
	}
	nsx_sort(x->waits, x->nwaits, sizeof(*x->waits), nsx_cmp_u64);
	return 0;
}

/* Whether a device-to-host copy is done when its call returns: if it goes to pageable memory, or if
 * the call blocks according to its name. Copies from pageable memory do not count, because their
 * calls may return as soon as the data is staged.
 */
static bool is_copy_done_on_return(const struct nsx_loader *l, uint32_t op, uint32_t call)
{
	const struct nsx_copy *c = &l->copies[l->ops.detail[op]];

	return l->ops.kind[op] == NSX_OP_MEMCPY && c->copy_kind == COPY_DTOH &&
	       (c->dst_kind == MEM_PAGEABLE ||
		l->calls.cls[call] == NSX_CALL_COPY);
}

static void add_bound(struct aligner *x, uint32_t stream, bool is_late, int64_t ns)
{
	x->bounds[x->nbounds++] = (struct bound){x->clock[stream], is_late, ns};
}

static void add_op_bounds(struct aligner *x, uint32_t thread, uint32_t call, uint32_t op)
{
	const struct nsx_loader *l = x->l;
	uint32_t stream = l->ops.stream[op];
	const struct nsx_stream *all = l->t->stream;
	struct queued *q = &x->q;
	int64_t end_ns = l->ops.end_ns[op];

	add_bound(x, stream, false, l->ops.start_ns[op] - l->calls.start_ns[call]);
	if (is_copy_done_on_return(l, op, call))
		add_bound(x, stream, true, l->calls.end_ns[call] - end_ns);
	/* The last operation of a stream ends last; a wrong end of another decides nothing. */
	q->thread[stream] = thread + 1;
	q->end_ns[stream] = end_ns;
	if (q->first == NSX_NONE)
		q->first = stream;
	q->is_mixed |= x->clock[q->first] != x->clock[stream] ||
		       all[q->first].context_id != all[stream].context_id;
	q->last_ns = NSX_MAX(q->last_ns, end_ns);
}

static void add_wait_bound(struct aligner *x, uint32_t thread, uint32_t call, uint32_t row)
{
	const struct nsx_loader *l = x->l;
	struct queued *q = &x->q;
	uint32_t stream = l->t->syncs.stream[row];

	if (l->t->syncs.type[row] == NSX_SYNC_CONTEXT) {
		if (q->last_ns > INT64_MIN && !q->is_mixed)
			add_bound(x, q->first, true, l->calls.end_ns[call] - q->last_ns);
		q->last_ns = INT64_MIN; /* the next wait is for later work */
	} else if (stream != NSX_NONE && q->thread[stream] == thread + 1) {
		add_bound(x, stream, true, l->calls.end_ns[call] - q->end_ns[stream]);
	}
}

/* Collects bounds from the calls, thread by thread in order of time. first_op: by call. */
static void collect_bounds(struct aligner *x, const uint32_t *first_op)
{
	const struct nsx_loader *l = x->l;
	uint32_t thread = NSX_NONE;
	size_t wait = 0;

	for (uint32_t i = 0; i < l->call_set.n; i++) {
		if (l->calls.thread[i] != thread) {
			thread = l->calls.thread[i];
			x->q.last_ns = INT64_MIN;
			x->q.first = NSX_NONE;
			x->q.is_mixed = false;
		}
		if (first_op[i] != NSX_NONE)
			add_op_bounds(x, thread, i, first_op[i]);
		for (; wait < x->nwaits && x->waits[wait] >> 32 == i; wait++)
			if (!(l->calls.flags[i] & NSX_CALL_FAILED))
				add_wait_bound(x, thread, i, (uint32_t)x->waits[wait]);
	}
}

/* Finds each call's operation that starts first; for a graph launch, the graph's first node. */
static int find_first_ops(struct nsx_loader *l, struct nsx_arena *a,
			  uint32_t **ret, struct nsx_err *err)
{
	uint32_t *v;

	if (!nsx_new_array(v, a, l->call_set.n, l->call_set.what, err))
		return err->rc;
	memset(v, 0xff, l->call_set.n * 4);
	for (size_t i = 0; i < l->op_set.n; i++) {
		uint32_t p = l->t->stream[l->ops.stream[i]].process;
		uint32_t call = p != NSX_NONE &&
				!(l->ops.flags[i] & NSX_OP_PEER) &&
				nsx_is_clock_sample(l, l->ops.call[i]) ?
			nsx_host_call(l, p, l->ops.call[i], l->ops.start_ns[i]) : NSX_NONE;

		if (call != NSX_NONE && v[call] == NSX_NONE)
			v[call] = (uint32_t)i;
	}
	*ret = v;
	return 0;
}

/* Reads a clock's bound from its rows of one kind, which begin at *at, and moves *at past them.
 * Returns false if there are too few rows.
 */
static bool read_bound(const struct aligner *x, size_t *at, uint32_t clock,
		       bool is_late, int64_t *ret)
{
	size_t first = *at, n;

	while (*at < x->nbounds && x->bounds[*at].clock == clock &&
	       x->bounds[*at].is_late == is_late)
		++*at;
	n = *at - first;
	if (n < LEAST_ROWS)
		return false;
	*ret = x->bounds[first + NSX_MAX(LEAST_ROWS - 1, n / SHARE)].ns;
	return true;
}

/* Chooses the shift. If the clock drifts or jumps, no shift satisfies both bounds. A shift between
 * the bounds is then taken if it removes most of the error.
 */
static void find_shift(struct nsx_clock *c)
{
	bool is_open = c->least_ns == INT64_MIN || c->most_ns == INT64_MAX;
	int64_t nearest = c->least_ns > 0 ? c->least_ns : c->most_ns;
	int64_t width, mid;

	if (is_open) {
		c->shift_ns = nearest;
		return;
	}
	width = llabs(c->most_ns - c->least_ns);
	mid = c->least_ns + (c->most_ns - c->least_ns) / 2;
	if (c->least_ns > c->most_ns && llabs(mid) < 5 * width)
		return;
	c->shift_ns = c->least_ns > c->most_ns || width <= NARROW_NS ? mid : nearest;
	c->within_ns = c->shift_ns == mid ? width / 2 : width;
}

static void decide_shift(const struct aligner *x, uint32_t clock, size_t *at)
{
	struct nsx_clock *c = &x->l->t->clock[clock];
	int64_t early_ns, late_ns;

	c->least_ns = read_bound(x, at, clock, false, &early_ns) ? -early_ns : INT64_MIN;
	c->most_ns = read_bound(x, at, clock, true, &late_ns) ? late_ns : INT64_MAX;
	c->within_ns = INT64_MAX;
	c->is_off = c->least_ns > TOLERANCE_NS || c->most_ns < -TOLERANCE_NS;
	if (c->is_off && c->least_ns < FARTHEST_NS && c->most_ns > -FARTHEST_NS)
		find_shift(c);
	else if (!c->is_off && c->least_ns != INT64_MIN && c->most_ns != INT64_MAX)
		c->within_ns = NSX_MAX(-c->least_ns, c->most_ns);
}

static void shift_op_times(struct aligner *x)
{
	struct nsx_loader *l = x->l;
	struct nsx_shifts *s = l->schema->shifts;

	for (size_t i = 0; i < l->op_set.n; i++) {
		int64_t ns = l->t->clock[x->clock[l->ops.stream[i]]].shift_ns;

		l->ops.start_ns[i] += ns;
		l->ops.end_ns[i] += ns;
	}
	nsx_few(s->v, l->schema->arena, l->t->nclocks);
	s->n = 0; /* forgets the shifts of an earlier load */
	for (uint32_t i = 0; i < l->t->nclocks; i++) {
		const struct nsx_clock *c = &l->t->clock[i];

		if (c->shift_ns)
			s->v[s->n++] = (struct nsx_shift){
				l->t->process[c->process].key,
				l->t->device[c->device].device_id, c->shift_ns};
	}
}

static int align_ops(struct aligner *x, struct nsx_arena *a, struct nsx_err *err)
{
	struct nsx_trace *t = x->l->t;
	uint32_t *first_op = NULL;
	bool moves = false;
	size_t at = 0, most;

	nsx_few(x->q.thread, a, t->nstreams);
	nsx_few(x->q.end_ns, a, t->nstreams);
	number_clocks(x, a);
	if (clock_list_waits(x, a, err) || find_first_ops(x->l, a, &first_op, err))
		return err->rc;
	/* A launching call and a wait give one bound each, and a copy may give another. */
	most = x->l->copy_set.n + x->nwaits;
	for (size_t i = 0; i < x->l->call_set.n; i++)
		most += first_op[i] != NSX_NONE;
	if (!nsx_new_array(x->bounds, a, most, "GPU clocks", err))
		return err->rc;
	collect_bounds(x, first_op);
	nsx_sort(x->bounds, x->nbounds, sizeof(*x->bounds), cmp_bounds);
	for (uint32_t i = 0; i < t->nclocks; i++) {
		decide_shift(x, i, &at);
		moves |= t->clock[i].shift_ns != 0;
	}
	if (moves)
		shift_op_times(x);
	return 0;
}

int nsx_align_clocks(struct nsx_loader *l, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct aligner x = {.l = l};
	int rc = align_ops(&x, a, err);

	for (uint32_t i = 0; i < l->t->nclocks; i++)
		l->t->has_clock_off |= l->t->clock[i].is_off;
	return rc;
}

int64_t nsx_clock_doubt_ns(const struct nsx_trace *t, uint32_t process, uint32_t device)
{
	uint32_t lo = NSX_SEARCH(0, t->nclocks, mid, t->clock[mid].device < device ||
				 (t->clock[mid].device == device &&
				  t->clock[mid].process < process));

	if (!t->has_clock_off)
		return 0;
	return lo < t->nclocks && t->clock[lo].device == device &&
			       t->clock[lo].process == process ?
		       t->clock[lo].within_ns : INT64_MAX;
}
