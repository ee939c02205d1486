/* learn.c - learns typical latencies, and sets the weight of every edge of the model.
 *
 * A latency is learned from events that nothing else can have delayed. A typical latency is the
 * median of the fast cluster, because much longer ones had other reasons. Values above what
 * hardware needs are not learned: if something else delays every launch of a trace, there is no
 * fast cluster. A weight never exceeds the recorded time, so that replaying the unchanged model
 * gives the recording. If an event was later than its weights say by less than 20 us, the excess
 * is jitter of the edge that decided. A greater excess stays with the event as its residual.
 */
#include <math.h>
#include "base/stat.h"
#include "facts/replay/model.h"

#define CLUSTER_NS 20000  /* width of the fast cluster                       */
#define JITTER_NS 20000	  /* a greater excess is no jitter                   */
#define SLACK_NS 5000	  /* a predecessor that was done earlier by this time did not decide */
#define LAUNCH_CAP_NS 60000
#define BLOCK_CAP_NS 200000
#define WAKE_CAP_NS 200000
#define ALIKE_NS 500	  /* scatters that differ by less are equal           */
#define FAR 0.95
#define DEFAULT_GAP_NS 1200 /* between operations of a stream                */
#define LAUNCH_NS 2500	    /* from the end of a launch call to the start of its kernel */
#define DEP_NS 2000	    /* longest delay between dependent operations of two streams */
/* an operation that starts within this time after another one ends may have waited for it */
#define NEAR_NS 15000
enum { MIN_SAMPLES = 3, MIN_ANY = 5, DEEP = 200, FIRST_LAUNCHES = 500,
       LOOK_BACK = 64 };
#define ANY UINT32_MAX /* stands for any API or kind */

/* Samples by key --------------------------------------------------------------*/

struct samples {
	struct nsx_groups keys;
	struct sample {
		uint32_t key;
		int64_t value;
	/* samples in the order in which they were added, until sorted */
	} __attribute__((packed)) *v;
	size_t n, cap;
	size_t *at; /* once sorted: by key, its slice of values              */
	int64_t *values; /* sorted by key; dropped once typical is known     */
	int64_t *typical; /* one for each key; NEVER: too few samples */
};

static int learn_add_sample(struct samples *s, uint32_t kind, uint32_t which,
			    int64_t value, struct nsx_err *err)
{
	uint32_t key;

	return nsx_group(&s->keys, kind, which, &key, err) ?:
	       nsx_push(s->v, s->n, s->cap, "latencies", err, (struct sample){key, value});
}

static int sort_samples(struct samples *s, struct nsx_arena *a, struct nsx_err *err)
{
	if (nsx_new_arrays(a, s->keys.n + 2, "latencies", err, s->at) ||
	    nsx_new_arrays(a, s->n, "latencies", err, s->values))
		return err->rc;
	for (size_t i = 0; i < s->n; i++)
		s->at[s->v[i].key + 2]++;
	for (size_t k = 0; k < s->keys.n; k++)
		s->at[k + 2] += s->at[k + 1];
	for (size_t i = 0; i < s->n; i++)
		s->values[s->at[s->v[i].key + 1]++] = s->v[i].value;
	free(s->v);
	s->v = NULL;
	return 0;
}

static void samples_done(struct samples *s)
{
	nsx_groups_done(&s->keys);
	free(s->v);
}

static int64_t fast_cluster_median(int64_t *v, size_t n)
{
	double most = nsx_quantile(v, n, 0.1) + CLUSTER_NS;
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if ((double)v[i] <= most) {
			int64_t x = v[i];

			v[i] = v[k];
			v[k++] = x;
		}
	return nsx_to_i64(nsx_quantile(v, k, 0.5));
}

/* Sets the typical value of each key or, with `are_least`, the value that nine tenths exceed. */
static int set_typical_values(struct samples *s, bool are_least, struct nsx_arena *a,
			      struct nsx_err *err)
{
	if (sort_samples(s, a, err) || nsx_new_arrays(a, s->keys.n, "latencies", err, s->typical))
		return err->rc;
	for (size_t k = 0; k < s->keys.n; k++) {
		size_t n = s->at[k + 1] - s->at[k];
		bool any = nsx_group_key(&s->keys, k).a == ANY;
		int64_t *v = s->values + s->at[k];

		s->typical[k] = are_least ? nsx_to_i64(nsx_quantile(v, n, 0.1)) :
				n < (any ? MIN_ANY : MIN_SAMPLES) ? NEVER : fast_cluster_median(v, n);
	}
	nsx_arena_drop(a, s->values);
	return 0;
}

static int64_t typical_of(const struct samples *s, uint32_t kind, uint32_t which)
{
	uint32_t k = nsx_group_find(&s->keys, kind, which);

	return k == NSX_NONE ? NEVER : s->typical[k];
}

/* The median distance of the values from x. Reorders v. */
static double learn_scatter(int64_t *v, size_t n, int64_t x)
{
	for (size_t i = 0; i < n; i++)
		v[i] = llabs(v[i] - x);
	return nsx_quantile(v, n, 0.5);
}

/* Whether launch latency counts from the start of calls instead of their end: the point with less
 * scatter is chosen. If scatters are equal, the far values decide, because a few long calls are far
 * off with the wrong point.
 */
static bool counts_from_start(int64_t *from_start, int64_t start, int64_t *from_end,
			      int64_t end, size_t n)
{
	double s = learn_scatter(from_start, n, start), e = learn_scatter(from_end, n, end);

	if (fabs(s - e) > ALIKE_NS)
		return s < e;
	return nsx_quantile(from_start, n, FAR) <= nsx_quantile(from_end, n, FAR);
}

/* Keys ----------------------------------------------------------------------------*/

static uint32_t launch_kind(const struct nsx_model *m, const struct model_op *o)
{
	bool blocks = m->call[o->call].kind == CALL_BLOCK;

	return (uint32_t)blocks << 16 | (uint32_t)o->kind << 8 | o->copy_kind;
}
#define ANY_LAUNCH(blocks) ((uint32_t)(blocks) << 16 | 0xff00)

/* The key of two consecutive operations on a stream: their kinds, and whether the second blocks its
 * call.
 */
static uint32_t gap_kind(const struct nsx_model *m, const struct model_op *p,
			 const struct model_op *o)
{
	bool blocks = o->call != NSX_NONE && m->call[o->call].kind == CALL_BLOCK;

	return (uint32_t)blocks << 16 | (uint32_t)p->kind << 8 | o->kind;
}
#define KERNELS (NSX_OP_KERNEL << 8 | NSX_OP_KERNEL)
static int64_t longest_plausible_gap(uint32_t kind)
{
	if (kind == ANY || kind == KERNELS)
		return 5000;
	return kind >> 16 ? 20000 : 10000;
}

static uint32_t wake_kind(const struct nsx_model *m, const struct model_call *c)
{
	uint32_t copy_kind = c->op == NSX_NONE ? 0 : m->op[c->op].copy_kind;

	return (uint32_t)c->kind << 8 | copy_kind;
}

/* Collecting ---------------------------------------------------------------------*/

struct latency {
	int64_t ns;	 /* NEVER: not learned                               */
	bool from_start; /* counted from the call's start, not its end       */
};
struct learner {
	struct build *b;
	struct samples from_start, from_end; /* launch latencies, from the call's start and from
						its end, with the same keys */
	/* Launch latencies of work that begins during its call, although its stream had been free
	 * for some time. They count from the call's start. They are used for kinds of launches that
	 * never met a free stream. A long call, such as the launch of a large graph, starts its
	 * work long before it ends; only such launches show how long before.
	 */
	struct samples during;
	/* seen: the gaps before work that was queued while its stream was busy. gap: those of them
	 * that nothing else can have prolonged. wake: times from the end of awaited work to the
	 * end of the call. own: times that calls take by themselves.
	 */
	struct samples gap, seen, wake, own;
	struct latency *launch; /* for each key of from_start */
	int64_t launch_ns;  /* median launch call among the first            */
	uint32_t *full;	     /* overhead rows that report a full queue        */
	uint32_t nfull, depth; /* depth of a queue; 0: not observed          */
	bool *is_full;	     /* for each call: a full queue delayed it */
};

/* Whether all dependencies of an operation ended before a time. */
static bool depends_before(const struct build *b, uint32_t op, int64_t at_ns)
{
	for (uint32_t k = b->link_head[op]; k != NSX_NONE; k = b->link[k].next)
		if (model_op_end(&b->m->op[b->link[k].op]) >= at_ns)
			return false;
	return true;
}

static int learn_launch_latency(struct learner *l, uint32_t op, struct nsx_err *err)
{
	const struct nsx_model *m = l->b->m;
	const struct model_op *o = &m->op[op];
	const struct model_call *c = &m->call[o->call];
	uint32_t kind = launch_kind(m, o), any = ANY_LAUNCH(kind >> 16);
	int64_t s = o->start_ns - c->start_ns, e = o->start_ns - c->end_ns;

	if (c->op != op || s < 0 || !depends_before(l->b, op, c->start_ns))
		return 0; /* work cannot start before its call: clock error   */
	return learn_add_sample(&l->from_start, kind, c->api, s, err) ?:
	       learn_add_sample(&l->from_end, kind, c->api, e, err) ?:
	       learn_add_sample(&l->from_start, any, ANY, s, err) ?:
	       learn_add_sample(&l->from_end, any, ANY, e, err);
}

/* Adds a sample to l->during if the operation begins during its call, and its stream was free some
 * time before.
 */
static int learn_during(struct learner *l, uint32_t op, struct nsx_err *err)
{
	const struct nsx_model *m = l->b->m;
	const struct model_op *o = &m->op[op];
	const struct model_call *c = &m->call[o->call];

	if (c->op != op || o->start_ns < c->start_ns || o->start_ns >= c->end_ns ||
	    model_op_end(&m->op[o->before]) > o->start_ns - SLACK_NS ||
	    !depends_before(l->b, op, o->start_ns - SLACK_NS))
		return 0;
	return learn_add_sample(&l->during, launch_kind(m, o), c->api,
				o->start_ns - c->start_ns, err);
}

/* Whether launch and dispatch latencies can be learned from an operation. */
static bool shows_latency(const struct model_op *o)
{
	return o->call != NSX_NONE && !(o->flags & OP_NODE);
}

static int learn_launches(struct learner *l, struct nsx_err *err)
{
	const struct nsx_model *m = l->b->m;

	for (uint32_t i = 0; i < m->nops; i++) {
		const struct model_op *o = &m->op[i];
		bool is_free;

		if (!shows_latency(o))
			continue;
		is_free = o->before == NSX_NONE || model_op_end(&m->op[o->before]) <
							   m->call[o->call].start_ns;
		if (is_free ? learn_launch_latency(l, i, err) : learn_during(l, i, err))
			return err->rc;
	}
	return 0;
}

/* The end of the last event for which a call waits; NEVER: it waits for nothing. */
static int64_t waited_until(const struct nsx_model *m, uint32_t call)
{
	int64_t ns = NEVER;

	for (uint32_t k = m->call[call].wait; k < m->call[call + 1].wait; k++)
		ns = NSX_MAX(ns, model_op_end(&m->op[m->wait[k]]));
	return ns;
}

/* The time from the start of the last call of an MPI call's meeting to the call's end. */
static int64_t mpi_transfer_ns(const struct nsx_model *m, uint32_t call)
{
	const struct model_call *c = &m->call[call];
	int64_t last = c->start_ns;

	for (uint32_t k = c->wait; k < c[1].wait; k++)
		last = NSX_MAX(last, m->meet[m->wait[k]].last_ns);
	return c->end_ns - last;
}

static int learn_calls(struct learner *l, struct nsx_err *err)
{
	const struct nsx_model *m = l->b->m;

	for (uint32_t i = 0; i < m->ncalls; i++) {
		const struct model_call *c = &m->call[i];
		int64_t until;

		if (c->kind == CALL_MPI) {
			if (learn_add_sample(&l->own, 0, c->api, mpi_transfer_ns(m, i), err))
				return err->rc;
			continue;
		}
		until = waited_until(m, i);
		if (until != NEVER && until > c->start_ns + 1000) {
			uint32_t kind = wake_kind(m, c);

			if (learn_add_sample(&l->wake, kind, c->api,
					     c->end_ns - until, err) ||
			    learn_add_sample(&l->wake, kind >> 8 << 8, ANY, c->end_ns - until, err))
				return err->rc;
		} else if (until != NEVER || (c->kind != CALL_SYNC && c->kind != CALL_POLL_END)) {
			if (learn_add_sample(&l->own, 0, c->api, c->end_ns - c->start_ns, err))
				return err->rc;
		}
	}
	return 0;
}

/* Typical latencies ---------------------------------------------------------------- */

static int set_typical_launches(struct learner *l, struct nsx_err *err)
{
	struct samples *s = &l->from_start, *e = &l->from_end;

	if (sort_samples(s, l->b->step, err) ||
	    sort_samples(e, l->b->step, err) ||
	    nsx_new_arrays(l->b->step, s->keys.n, "latencies", err, l->launch))
		return err->rc;
	for (size_t k = 0; k < s->keys.n; k++) {
		size_t n = s->at[k + 1] - s->at[k];
		int64_t *from_start = s->values + s->at[k];
		int64_t *from_end = e->values + e->at[k], start, end;
		bool blocks = nsx_group_key(&s->keys, k).a >> 16 & 1;
		struct latency *x = &l->launch[k];

		x->ns = NEVER;
		if (n < MIN_SAMPLES)
			continue;
		start = fast_cluster_median(from_start, n);
		end = fast_cluster_median(from_end, n);
		x->from_start = blocks || counts_from_start(from_start, start, from_end, end, n);
		x->ns = !x->from_start ? NSX_MIN(end, LAUNCH_CAP_NS) :
			blocks	       ? NSX_MIN(start, BLOCK_CAP_NS) :
					 NSX_MIN(start, LAUNCH_CAP_NS + l->launch_ns);
	}
	nsx_arena_drop(l->b->step, s->values);
	nsx_arena_drop(l->b->step, e->values);
	return 0;
}

static struct latency launch_latency_of(const struct learner *l, const struct model_op *o)
{
	const struct nsx_model *m = l->b->m;
	uint32_t kind = launch_kind(m, o), api = m->call[o->call].api;
	uint32_t k = nsx_group_find(&l->from_start.keys, kind, api);
	int64_t during_ns = typical_of(&l->during, kind, api);

	if (k != NSX_NONE && l->launch[k].ns != NEVER)
		return l->launch[k];
	if (during_ns != NEVER)
		return (struct latency){NSX_MIN(during_ns, LAUNCH_CAP_NS), true};
	k = nsx_group_find(&l->from_start.keys, ANY_LAUNCH(kind >> 16), ANY);
	return k == NSX_NONE ? (struct latency){NEVER, false} : l->launch[k];
}

/* The launch latency counted from the end of a call of usual length. */
static int64_t from_usual_end(const struct learner *l, const struct latency *x)
{
	return NSX_MAX(x->ns - (x->from_start ? l->launch_ns : 0), 0);
}

/* The launch latency of the API that launches most of the kernels that show a latency. */
static int64_t usual_launch(const struct learner *l)
{
	int64_t ns = LAUNCH_NS;
	size_t most = 0;

	for (size_t k = 0; k < l->from_start.keys.n; k++) {
		size_t n = l->from_start.at[k + 1] - l->from_start.at[k];

		if (nsx_group_key(&l->from_start.keys, k).a != NSX_OP_KERNEL ||
		    l->launch[k].ns == NEVER || n <= most)
			continue;
		most = n;
		ns = from_usual_end(l, &l->launch[k]);
	}
	return ns;
}

int64_t nsx_model_launch_ns(const struct nsx_model *m)
{
	return m->launch_ns;
}

/* Returns when an operation could start if only its call decided: the launch latency after the
 * call.
 */
static int64_t ready_by_call(const struct learner *l, const struct model_op *o)
{
	const struct model_call *c = &l->b->m->call[o->call];
	const struct latency x = launch_latency_of(l, o);

	if (c->kind == CALL_BLOCK)
		return x.ns != NEVER ? c->start_ns + x.ns : INT64_MAX;
	return c->end_ns + (x.ns != NEVER ? from_usual_end(l, &x) : LAUNCH_NS);
}

/* Adds the gap before an operation to l->seen, and to l->gap if nothing else prolonged it. */
static int learn_stream_gap(struct learner *l, uint32_t op, struct nsx_err *err)
{
	const struct nsx_model *m = l->b->m;
	const struct model_op *o = &m->op[op], *p = &m->op[o->before];
	const struct model_call *c = &m->call[o->call];
	bool blocks = c->kind == CALL_BLOCK;
	int64_t end = model_op_end(p), ns = o->start_ns - end;

	if (!depends_before(l->b, op, end - SLACK_NS) || (blocks ? c->start_ns : c->end_ns) >= end)
		return 0;
	if (!blocks && ns < -DEP_NS)
		return 0;
	if (learn_add_sample(&l->seen, gap_kind(m, p, o), 0, ns, err))
		return err->rc;
	if (ready_by_call(l, o) >= end || (!blocks && c->end_ns >= end - SLACK_NS))
		return 0;
	return learn_add_sample(&l->gap, gap_kind(m, p, o), 0, ns, err) ?:
	       blocks ? 0 : learn_add_sample(&l->gap, ANY, 0, ns, err);
}

static int learn_gaps(struct learner *l, struct nsx_err *err)
{
	const struct nsx_model *m = l->b->m;

	for (uint32_t i = 0; i < m->nops; i++)
		if (shows_latency(&m->op[i]) && m->op[i].before != NSX_NONE &&
		    learn_stream_gap(l, i, err))
			return err->rc;
	return 0;
}

/* The typical gap of a kind; NEVER: not learned, or too long to be only a gap. */
static int64_t typical_gap(const struct learner *l, uint32_t kind)
{
	int64_t ns = typical_of(&l->gap, kind, 0);

	return ns > longest_plausible_gap(kind) ? NEVER : ns;
}

/* The typical gap between two operations of a stream. If it was not learned, it is at most the
 * least gap seen, even if other causes may have prolonged that gap.
 */
static int64_t stream_gap_of(const struct learner *l, const struct model_op *p,
			     const struct model_op *o)
{
	uint32_t kind = gap_kind(l->b->m, p, o);
	int64_t ns = typical_gap(l, kind), least = typical_of(&l->seen, kind, 0);

	if (ns != NEVER)
		return ns;
	if (kind >> 16)
		return least == NEVER ? 3000 : NSX_MIN(least, 6000);
	ns = typical_gap(l, ANY);
	ns = ns == NEVER ? DEFAULT_GAP_NS : NSX_MIN(ns, 3000);
	return least == NEVER ? ns : NSX_MIN(ns, NSX_MAX(least, 0));
}

/* The typical time from the end of awaited work to the end of the call. A call that queued this
 * work may have work of its own then, so its time has no upper limit.
 */
static int64_t wake_latency_of(const struct learner *l, const struct model_call *c)
{
	uint32_t kind = wake_kind(l->b->m, c);
	int64_t ns = typical_of(&l->wake, kind, c->api);

	if (ns != NEVER)
		return c->kind == CALL_BLOCK ? ns : NSX_MIN(ns, WAKE_CAP_NS);
	ns = typical_of(&l->wake, kind >> 8 << 8, ANY);
	return ns == NEVER ? 8000 : NSX_MIN(ns, 20000);
}

static int set_typical_costs(struct learner *l, struct nsx_err *err)
{
	struct nsx_model *m = l->b->m;
	struct samples *s = &l->own;

	if (sort_samples(s, l->b->step, err))
		return err->rc;
	for (size_t k = 0; k < s->keys.n; k++) {
		struct model_api *api = &m->api[nsx_group_key(&s->keys, k).b];
		size_t n = s->at[k + 1] - s->at[k];
		int64_t *v = s->values + s->at[k];

		api->least_ns = nsx_to_i64(nsx_quantile(v, n, 0.1));
		api->median_ns = nsx_to_i64(nsx_quantile(v, n, 0.5));
		if (api->says & API_SYNC)
			api->least_ns = NSX_MIN(api->least_ns, 5000);
	}
	nsx_arena_drop(l->b->step, s->values);
	return 0;
}

static int first_launches(struct learner *l, struct nsx_err *err)
{
	const struct nsx_model *m = l->b->m;
	int64_t v[FIRST_LAUNCHES];
	size_t n = 0;

	for (uint32_t i = 0; i < m->ncalls && n < FIRST_LAUNCHES; i++)
		if (m->call[i].kind == CALL_LAUNCH)
			v[n++] = m->call[i].end_ns - m->call[i].start_ns;
	l->launch_ns = n ? nsx_to_i64(nsx_quantile(v, n, 0.5)) : 0;
	return nsx_stopped(err);
}

static int64_t usual_call_cost(const struct nsx_model *m, const struct model_call *c,
			       int64_t unknown_ns)
{
	int64_t ns = m->api[c->api].median_ns;

	return ns <= 0 ? unknown_ns : ns;
}

/* Full queues ----------------------------------------------------------------------*/

static int list_full_queue_rows(struct learner *l, struct nsx_err *err)
{
	const struct nsx_overheads *o = &l->b->m->t->overheads;

	if (!nsx_new_array(l->full, l->b->step, o->n, "overheads", err))
		return err->rc;
	for (uint32_t i = 0; i < o->n; i++)
		if (o->type[i] == NSX_OVERHEAD_BUFFER_FULL)
			l->full[l->nfull++] = i;
	return 0;
}

/* Whether a full queue is recorded for more than half of the call's time. */
static bool is_recorded_full(const struct learner *l, uint32_t call)
{
	const struct nsx_overheads *o = &l->b->m->t->overheads;
	const struct model_call *c = &l->b->m->call[call];
	uint32_t h = l->b->thread[call], lo = 0, hi = l->nfull, row;

	NSX_BISECT(lo, hi, mid,
		   o->thread[l->full[mid]] < h ||
		   (o->thread[l->full[mid]] == h && o->start_ns[l->full[mid]] < c->end_ns));
	if (!lo)
		return false;
	row = l->full[lo - 1];
	return o->thread[row] == h && o->end_ns[row] > c->start_ns &&
	       2 * (NSX_MIN(o->end_ns[row], c->end_ns) - NSX_MAX(o->start_ns[row], c->start_ns)) >
							    c->end_ns - c->start_ns;
}

/* The index, in stream_op, after the stream's operations that had started by at_ns. */
static uint32_t started_by(const struct build *b, uint32_t stream, int64_t at_ns)
{
	return NSX_SEARCH(b->stream_at[stream], b->stream_at[stream + 1], mid,
			  b->m->op[b->stream_op[mid]].start_ns <= at_ns);
}

static bool is_queued_launch(const struct nsx_model *m, const struct model_call *c)
{
	return c->kind == CALL_LAUNCH && (m->op[c->op].flags & OP_STREAM) &&
	       !((c->flags & CALL_MANY) && (m->api[c->api].says & API_GRAPH));
}

static int learn_queue_depth(struct learner *l, struct nsx_err *err)
{
	const struct build *b = l->b;
	const struct nsx_model *m = b->m;
	int64_t *depth;
	size_t n = 0;

	if (nsx_new_arrays(b->step, m->ncalls, "launches", err, depth, l->is_full))
		return err->rc;
	for (uint32_t i = 0; i < m->ncalls; i++) {
		const struct model_call *c = &m->call[i];
		int64_t ns = c->end_ns - c->start_ns;
		int64_t pending;

		if (!is_queued_launch(m, c))
			continue;
		pending = (int64_t)b->place[c->op] - started_by(b, m->op[c->op].stream, c->end_ns);
		l->is_full[i] =
			l->nfull ? is_recorded_full(l, i) :
				   ns > NSX_MAX(100000,
						20 * usual_call_cost(m, c, 5000)) &&
					   pending > DEEP;
		if (l->is_full[i])
			depth[n++] = pending;
	}
	if (n >= MIN_SAMPLES)
		l->depth = (uint32_t)NSX_MAX(0, nsx_to_i64(nsx_quantile(depth, n, 0.5)));
	return 0;
}

/* Weights of calls ------------------------------------------------------------------- */

/* Splits a waiting call into the time that it takes by itself, the wake-up, and the rest. */
static void split_waiting_call(struct learner *l, uint32_t call, int64_t until)
{
	struct nsx_model *m = l->b->m;
	struct model_call *c = &m->call[call];
	int64_t ns = c->end_ns - c->start_ns, own = 3000;
	int64_t wake = wake_latency_of(l, c), usual = NSX_MIN(NSX_MAX(wake, 0), WAKE_CAP_NS), seen;

	l->b->typical_lambda[call] = (int32_t)NSX_MIN(NSX_MAX(wake, INT32_MIN), INT32_MAX);
	seen = c->end_ns - until;
	if (until <= c->start_ns + 1000) {
		c->lambda_ns = (int32_t)NSX_MAX(NSX_MIN(NSX_MIN(wake, 20000), seen), INT32_MIN);
		return;
	}
	if (c->kind == CALL_IMPLICIT && m->api[c->api].least_ns >= 0)
		own = m->api[c->api].least_ns;
	c->own_ns = NSX_MIN(ns, own);
	if (seen > NSX_MAX(3 * usual, usual + 50000)) {
		c->residual_ns = c->end_ns - NSX_MAX(c->start_ns + c->own_ns, until + usual);
		seen = usual;
	}
	c->lambda_ns = (int32_t)NSX_MAX(seen, INT32_MIN);
	/* When the GPU is done, a free has work of its own: cudaFree took 98 to 278 us on an H200.
	 */
	if (c->kind == CALL_IMPLICIT)
		l->b->typical_lambda[call] = c->lambda_ns;
}

/* Sets the operation whose start made room for a launch that a full queue delayed: the one that is
 * ahead by the depth of the queue or, if the queue was deeper than usual, the one that started
 * last.
 */
static void find_op_that_made_room(struct learner *l, uint32_t call)
{
	const struct build *b = l->b;
	struct nsx_model *m = b->m;
	struct model_call *c = &m->call[call];
	uint32_t stream = m->op[c->op].stream, at = b->stream_at[stream];
	uint32_t place = b->place[c->op], started;
	int64_t room_ns;

	if (!l->depth || place < at + l->depth)
		return;
	started = started_by(b, stream, c->end_ns);
	if (started == at)
		return;
	place = NSX_MIN(place - l->depth, started - 1);
	c->room = b->stream_op[place];
	room_ns = m->op[c->room].start_ns;
	c->own_ns = NSX_MIN(c->end_ns - c->start_ns, usual_call_cost(m, c, 4000));
	c->lambda_ns = (int32_t)NSX_MIN(c->end_ns - room_ns, LAUNCH_CAP_NS);
	c->residual_ns = NSX_MAX(0, c->end_ns - NSX_MAX(c->start_ns + c->own_ns, room_ns +
							c->lambda_ns));
}

static void set_call_weights(struct learner *l)
{
	struct nsx_model *m = l->b->m;

	for (uint32_t i = 0; i < m->ncalls; i++) {
		struct model_call *c = &m->call[i];
		int64_t ns = c->end_ns - c->start_ns, until;
		int64_t least = m->api[c->api].least_ns;

		if (c->kind == CALL_MPI) {
			c->own_ns = mpi_transfer_ns(m, i);
			if (c->own_ns >= m->api[c->api].median_ns + OUTSIDE_NS)
				c->flags |= CALL_LONG;
			continue;
		}
		until = waited_until(m, i);
		c->own_ns = ns;
		least = least <= 0 ? 5000 : least;
		if (until != NEVER) {
			split_waiting_call(l, i, until);
		} else if (c->kind == CALL_SYNC && ns > NSX_MAX(100000, 3 * least)) {
			c->own_ns = NSX_MIN(ns, least);
			c->residual_ns = ns - c->own_ns;
		} else if (l->is_full[i]) {
			find_op_that_made_room(l, i);
		}
	}
}

/* Weights of operations -----------------------------------------------------------------*/

/* Lists the operations of each device, sorted by end. */
struct by_end {
	uint32_t *at, *op;
};

static int list_by_end(struct build *b, struct by_end *x, struct nsx_err *err)
{
	const struct nsx_model *m = b->m;
	const struct nsx_trace *t = m->t;
	struct nsx_keyed *v;

	if (nsx_new_arrays(b->step, (size_t)t->ndevices + 2, "devices", err,
			   x->at) ||
	    nsx_new_arrays(b->step, m->nops, "operations", err, x->op) ||
	    nsx_new_arrays(b->step, 2 * (size_t)m->nops, "operations", err, v))
		return err->rc;
	for (uint32_t i = 0; i < m->nops; i++)
		v[i] = (struct nsx_keyed){model_op_end(&m->op[i]), i};
	nsx_keyed_sort(v, v + m->nops, m->nops);
	NSX_DEAL(x->at, x->op, t->ndevices, m->nops, i, model_device(b, v[i].at));
	for (uint32_t i = 0; i < m->nops; i++)
		x->op[i] = v[x->op[i]].at;
	nsx_arena_drop(b->step, v);
	return 0;
}

/* The operation of the device for which an operation without a known cause waited: one that ended
 * right before it starts; NSX_NONE: none.
 */
static uint32_t infer_cause(const struct build *b, const struct by_end *x,
			    uint32_t op, int64_t known_ns)
{
	const struct nsx_model *m = b->m;
	const struct model_op *o = &m->op[op];
	uint32_t d = model_device(b, op), lo = x->at[d], hi = x->at[d + 1];

	NSX_BISECT(lo, hi, mid, model_op_end(&m->op[x->op[mid]]) <= o->start_ns + 500);
	for (unsigned n = 0; n < LOOK_BACK && lo-- > x->at[d]; n++) {
		const struct model_op *y = &m->op[x->op[lo]];

		if (model_op_end(y) < o->start_ns - NEAR_NS)
			break;
		if (y != o &&
		    (y->stream != o->stream || !(y->flags & OP_STREAM)) &&
		    model_op_end(y) > known_ns && y->start_ns < o->start_ns)
			return x->op[lo];
	}
	return NSX_NONE;
}

/* The edges from the predecessors of an operation. */
enum edge { EDGE_NONE, EDGE_LAUNCH, EDGE_STREAM, EDGE_DEP };
struct edges {
	int64_t best_ns; /* when the operation could start, with typical weights */
	enum edge bound; /* the edge that decided best_ns                    */
};

static void weigh_edge(struct edges *e, int64_t ready_ns, enum edge edge)
{
	if (ready_ns > e->best_ns)
		*e = (struct edges){ready_ns, edge};
}

static void weigh_launch_edge(struct learner *l, uint32_t op, struct edges *e)
{
	struct build *b = l->b;
	struct nsx_model *m = b->m;
	struct model_op *o = &m->op[op];
	const struct model_call *c = &m->call[o->call];
	bool blocks = c->kind == CALL_BLOCK;
	const struct latency x = launch_latency_of(l, o);
	int64_t ns = x.ns != NEVER ? x.ns : blocks ? 9000 : LAUNCH_NS;
	int64_t from = blocks ? c->start_ns : c->end_ns;

	/* The latency counts from the end of this very call. */
	if (x.from_start && !blocks)
		ns -= l->is_full[o->call] ? usual_call_cost(m, c, 4000) : c->end_ns - c->start_ns;
	b->typical_launch[op] = ns;
	o->launch_ns = NSX_MIN(ns, o->start_ns - from);
	weigh_edge(e, from + ns, EDGE_LAUNCH);
}

static void weigh_stream_edge(const struct learner *l, uint32_t op, struct edges *e)
{
	struct model_op *o = &l->b->m->op[op], *before = &l->b->m->op[o->before];
	int64_t ns = NSX_MAX(stream_gap_of(l, before, o), INT32_MIN);

	l->b->typical_dispatch[op] = (int32_t)ns;
	weigh_edge(e, model_op_end(before) + ns, EDGE_STREAM);
	ns = NSX_MIN(ns, o->start_ns - model_op_end(before));
	o->dispatch_ns = (int32_t)NSX_MAX(ns, INT32_MIN);
}

static void weigh_dependency_edges(struct build *b, uint32_t op, struct edges *e)
{
	const struct nsx_model *m = b->m;

	for (uint32_t k = b->link_head[op]; k != NSX_NONE; k = b->link[k].next) {
		struct link *x = &b->link[k];
		int64_t end = model_op_end(&m->op[x->op]);

		x->weight_ns = NSX_MIN(DEP_NS, m->op[op].start_ns - end);
		weigh_edge(e, end + DEP_NS, EDGE_DEP);
	}
}

/* The dependency that allowed the operation to start last; NULL: none. */
static struct link *last_link(const struct build *b, uint32_t op)
{
	struct link *best = NULL;
	int64_t best_ns = NEVER;

	for (uint32_t k = b->link_head[op]; k != NSX_NONE; k = b->link[k].next) {
		struct link *x = &b->link[k];
		int64_t ns = model_op_end(&b->m->op[x->op]) + x->weight_ns;

		if (!best || ns > best_ns || (ns == best_ns && x->op < best->op)) {
			best = x;
			best_ns = ns;
		}
	}
	return best;
}

/* Assigns an operation's unexplained delay. Jitter is added to the edge that decided, and
 * disappears with that edge. A greater delay stays with the operation.
 */
static void assign_delay(struct build *b, uint32_t op, const struct edges *e)
{
	struct model_op *o = &b->m->op[op];
	int64_t left = e->best_ns == NEVER ? 0 : o->start_ns - e->best_ns;

	if (left > JITTER_NS)
		o->residual_ns = left;
	else if (left > 0 && e->bound == EDGE_LAUNCH)
		o->launch_ns += left;
	else if (left > 0 && e->bound == EDGE_STREAM)
		o->dispatch_ns += (int32_t)left;
	else if (left > 0)
		last_link(b, op)->weight_ns += left;
}

static int set_op_weights(struct learner *l, struct nsx_err *err)
{
	struct build *b = l->b;
	struct nsx_model *m = b->m;
	struct by_end x;

	if (list_by_end(b, &x, err))
		return err->rc;
	for (uint32_t i = 0; i < m->nops; i++) {
		const struct model_op *o = &m->op[i];
		struct edges e = {NEVER, EDGE_NONE};
		uint32_t on;

		if (o->flags & OP_NODE)
			continue;
		if (o->call != NSX_NONE)
			weigh_launch_edge(l, i, &e);
		if (o->before != NSX_NONE)
			weigh_stream_edge(l, i, &e);
		weigh_dependency_edges(b, i, &e);
		on = e.best_ns == NEVER || o->start_ns - e.best_ns > JITTER_NS ?
			     infer_cause(b, &x, i, e.best_ns) : NSX_NONE;
		if (on != NSX_NONE) {
			if (add_link(b, i, on, NSX_NONE, err))
				return err->rc;
			weigh_dependency_edges(b, i, &e);
			e.bound = EDGE_DEP;
		}
		assign_delay(b, i, &e);
	}
	return 0;
}

int model_learn(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	struct learner l = {.b = b};
	int rc = nsx_new_arrays(b->a, m->nops, "latencies", err,
				b->typical_launch, b->typical_dispatch) ?:
		 nsx_new_arrays(b->a, m->ncalls, "latencies", err,
				b->typical_lambda) ?:
		 first_launches(&l, err) ?: learn_launches(&l, err) ?:
		 set_typical_launches(&l, err) ?:
		 set_typical_values(&l.during, false, b->step, err) ?:
		 learn_gaps(&l, err) ?: set_typical_values(&l.gap, false, b->step, err) ?:
		 set_typical_values(&l.seen, true, b->step, err) ?: learn_calls(&l, err) ?:
		 set_typical_values(&l.wake, false, b->step, err) ?: set_typical_costs(&l, err) ?:
		 list_full_queue_rows(&l, err) ?: learn_queue_depth(&l, err);

	if (!rc) {
		m->launch_ns = usual_launch(&l);
		m->kernel_gap_ns = typical_gap(&l, KERNELS);
		if (m->kernel_gap_ns == NEVER) /* too few consecutive kernels */
			m->kernel_gap_ns = DEFAULT_GAP_NS;
		set_call_weights(&l);
		rc = set_op_weights(&l, err);
	}
	/* Later steps do not need places on streams. */
	nsx_arena_drop(b->a, b->place);
	nsx_arena_drop(b->a, b->stream_op);
	samples_done(&l.from_start);
	samples_done(&l.from_end);
	samples_done(&l.during);
	samples_done(&l.gap);
	samples_done(&l.seen);
	samples_done(&l.wake);
	samples_done(&l.own);
	return rc;
}
