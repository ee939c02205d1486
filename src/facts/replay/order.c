/* order.c - finds the order in which replays evaluate events, and the part of the recording that is
 * the same in all replays.
 *
 * The key of an event is its recorded time, raised until it is above the keys of all predecessors.
 * Events are sorted once by key. Every edge then leads forward, whatever a change does, so a replay
 * is one pass.
 */
#include "base/stat.h"
#include "facts/occupancy.h"
#include "facts/replay/pass.h"

enum {
	MAX_ROUNDS = 40, LOOK_AHEAD = 4096,
	PAUSE = 100, /* a pause of up to 1 / PAUSE of the window is ignored */
};

struct keys {
	/* Keys of starts and ends of calls, of operations, of meetings. */
	int64_t *start, *end, *op, *meet;
};

/* Whether a call's end has predecessors besides the call's start. */
static bool end_has_predecessors(const struct nsx_model *m, uint32_t call)
{
	const struct model_call *c = &m->call[call];

	return c->wait != m->call[call + 1].wait || c->room != NSX_NONE || (c->flags & CALL_WIDE);
}

static int64_t key_above_predecessor(int64_t key, int64_t predecessor)
{
	return predecessor >= key ? predecessor + 1 : key;
}

static size_t raise_call_keys(const struct nsx_model *m, struct keys *k)
{
	size_t moved = 0;

	for (uint32_t i = 0; m->nmeets && i < m->ncalls; i++)
		if (m->call[i].kind == CALL_MPI && m->call[i].room != NSX_NONE)
			k->meet[m->call[i].room] = NSX_MAX(k->meet[m->call[i].room], k->start[i]);
	for (uint32_t i = 0; i < m->ncalls; i++) {
		const struct model_call *c = &m->call[i];
		const int64_t *waited = c->kind == CALL_MPI ? k->meet : k->op;
		int64_t start = k->start[i], end = k->end[i];

		if (c->before != NSX_NONE)
			start = key_above_predecessor(start, k->end[c->before]);
		end = key_above_predecessor(end, start);
		for (uint32_t w = c->wait; w < m->call[i + 1].wait; w++)
			end = key_above_predecessor(end, waited[m->wait[w]]);
		if (c->room != NSX_NONE && c->kind != CALL_MPI)
			end = key_above_predecessor(end, k->op[c->room]);
		moved += start != k->start[i] || end != k->end[i];
		k->start[i] = start;
		k->end[i] = end;
	}
	return moved;
}

static size_t raise_op_keys(const struct nsx_model *m, struct keys *k)
{
	size_t moved = 0;

	for (uint32_t i = 0; i < m->nops; i++) {
		const struct model_op *o = &m->op[i];
		int64_t key = k->op[i];

		if (o->call != NSX_NONE)
			key = key_above_predecessor(key, m->call[o->call].kind == CALL_BLOCK ?
						 k->start[o->call] :
						 k->end[o->call]);
		if (o->before != NSX_NONE)
			key = key_above_predecessor(key, k->op[o->before]);
		for (uint32_t d = o->dep; d < m->op[i + 1].dep; d++)
			key = key_above_predecessor(key, k->op[m->dep[d].op]);
		if (o->flags & OP_NODE)
			key = key_above_predecessor(key, k->op[o->group]);
		moved += key != k->op[i];
		k->op[i] = key;
	}
	return moved;
}

static int make_keys(struct build *b, struct keys *k, bool *ret_settled, struct nsx_err *err)
{
	const struct nsx_model *m = b->m;

	if (nsx_new_arrays(b->step, m->ncalls, "replay order", err, k->start,
			   k->end) ||
	    nsx_new_arrays(b->step, m->nops, "replay order", err, k->op) ||
	    nsx_new_arrays(b->step, m->nmeets, "replay order", err, k->meet))
		return err->rc;
	for (uint32_t i = 0; i < m->nmeets; i++)
		k->meet[i] = NEVER;
	for (uint32_t i = 0; i < m->ncalls; i++) {
		const struct model_call *c = &m->call[i];

		k->start[i] = k->end[i] = c->start_ns;
		if (c->kind != CALL_LAUNCH)
			k->end[i] = c->end_ns;
		else
			k->end[i] = NSX_MAX(c->start_ns, NSX_MIN(c->end_ns, m->op[c->op].start_ns));
	}
	for (uint32_t i = 0; i < m->nops; i++)
		k->op[i] = m->op[i].start_ns;
	*ret_settled = false;
	for (unsigned n = 0; n < MAX_ROUNDS && !*ret_settled; n++) {
		size_t moved = raise_call_keys(m, k);

		*ret_settled = !(moved + raise_op_keys(m, k));
	}
	return nsx_stopped(err);
}

/* Parts equal in all replays ------------------------------------------------------ */

/* Finds the effect of each call: the start of the first work that the call, or a later call of its
 * thread, queued.
 */
static int find_effects(struct build *b, int64_t *effect, struct nsx_err *err)
{
	const struct nsx_model *m = b->m;
	const struct nsx_trace *t = m->t;
	int64_t *next;

	if (!nsx_new_array(next, b->step, t->nthreads, "threads", err))
		return err->rc;
	for (uint32_t h = 0; h < t->nthreads; h++) {
		uint32_t to = t->thread[h].calls_at + t->thread[h].ncalls;

		next[h] = INT64_MAX;
		for (uint32_t i = b->slice[h].to, n = 0; i < to && n < LOOK_AHEAD; i++, n++) {
			uint32_t op = nsx_call_op(&t->calls, i);

			if (op != NSX_NONE) {
				next[h] = nsx_op_start(&t->ops, op);
				break;
			}
		}
	}
	for (uint32_t i = m->ncalls; i-- > 0;) {
		const struct model_call *c = &m->call[i];
		int64_t *at = &next[b->thread[i]];
		uint32_t op = nsx_call_op(&t->calls, c->row);

		if (c->op != NSX_NONE)
			*at = NSX_MIN(*at, m->op[c->op].start_ns);
		else if (op != NSX_NONE)
			*at = NSX_MIN(*at, nsx_op_start(&t->ops, op));
		effect[i] = *at == INT64_MAX ? c->start_ns : NSX_MAX(*at, c->start_ns);
	}
	return 0;
}

/* The start of the launch call of the window's first work, if earlier calls must not move; or
 * NEVER. Earlier calls must not move if there is no work before the window, or if the pause before
 * it is longer than any at its end: that pause belongs to the time before the loop.
 */
static int64_t fixed_calls_end(const struct nsx_model *m)
{
	struct nsx_window w = m->closure.window;
	int64_t before_ns = NEVER, last_ns = w.start_ns, launch_ns = NEVER;
	int64_t pause_ns;

	for (uint32_t i = 0; i < m->nops; i++) {
		const struct model_op *o = &m->op[i];
		int64_t end = model_op_end(o);

		if (end <= w.start_ns)
			before_ns = NSX_MAX(before_ns, end);
		else if (end <= w.end_ns)
			last_ns = NSX_MAX(last_ns, end);
		if (launch_ns == NEVER && o->start_ns >= w.start_ns && o->call != NSX_NONE)
			launch_ns = m->call[o->call].start_ns;
	}
	if (before_ns == NEVER)
		return launch_ns;
	pause_ns = w.start_ns - before_ns;
	return pause_ns / 2 <= w.end_ns - last_ns ||
			       pause_ns <= (w.end_ns - w.start_ns) / PAUSE ?
		       NEVER : launch_ns;
}

static void flag_active_calls(struct nsx_model *m, const int64_t *effect)
{
	struct nsx_window w = m->closure.window;
	int64_t launch_ns = fixed_calls_end(m);

	for (uint32_t i = 0; i < m->ncalls; i++) {
		struct model_call *c = &m->call[i];
		bool early = effect[i] < w.start_ns;

		c->flags &= (uint16_t)~(CALL_FIXED_START | CALL_FIXED_END | CALL_ACTIVE);
		if (early || c->start_ns <= launch_ns)
			c->flags |= CALL_FIXED_START;
		if (early || c->start_ns < launch_ns)
			c->flags |= CALL_FIXED_END;
		if (!early && effect[i] < w.end_ns)
			c->flags |= CALL_ACTIVE;
	}
}

static void flag_active_ops(struct nsx_model *m)
{
	struct nsx_window w = m->closure.window;
	size_t active = 0, uncalled = 0;

	for (uint32_t i = 0; i < m->nops; i++) {
		struct model_op *o = &m->op[i];
		int64_t end = model_op_end(o);

		if (o->start_ns < w.start_ns)
			o->flags |= OP_FIXED;
		else if (o->start_ns < w.end_ns)
			o->flags |= OP_ACTIVE;
		if (end > w.start_ns && end <= w.end_ns)
			o->flags |= OP_MEASURED;
		active += !!(o->flags & OP_ACTIVE);
		uncalled += (o->flags & OP_ACTIVE) && o->call == NSX_NONE;
	}
	m->uncalled = active ? (double)uncalled / (double)active : 0;
}

/* Sorts the steps that a replay has to evaluate into m->order, up to the last measured operation;
 * of simultaneous steps, starts come first and operations last. Drops the keys.
 */
static int sort_steps(struct build *b, const struct keys *k, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	const unsigned fixed = CALL_FIXED_START | CALL_FIXED_END;
	size_t n = 0, most = 2 * (size_t)m->ncalls + m->nops;
	struct nsx_keyed *v;

	if (!nsx_new_array(v, b->step, 2 * most, "replay order", err))
		return err->rc;
	for (uint32_t i = 0; i < m->ncalls; i++)
		if ((m->call[i].flags & fixed) != fixed)
			v[n++] = (struct nsx_keyed){k->start[i], i << 2 | STEP_START};
	for (uint32_t i = 0; i < m->ncalls; i++)
		if (end_has_predecessors(m, i) && !(m->call[i].flags & CALL_FIXED_END))
			v[n++] = (struct nsx_keyed){k->end[i], i << 2 | STEP_END};
	for (uint32_t i = 0; i < m->nops; i++)
		if (!(m->op[i].flags & OP_FIXED))
			v[n++] = (struct nsx_keyed){k->op[i], i << 2 | STEP_OP};
	nsx_arena_drop(b->step, k->start);
	nsx_arena_drop(b->step, k->end);
	nsx_arena_drop(b->step, k->op);
	nsx_keyed_sort(v, v + n, n);
	while (n && !((v[n - 1].at & 3) == STEP_OP &&
		      (m->op[v[n - 1].at >> 2].flags & OP_MEASURED)))
		n--;
	m->norder = (uint32_t)n;
	if (!nsx_new_array(m->order, m->arena, n, "replay order", err))
		return err->rc;
	for (size_t i = 0; i < n; i++)
		m->order[i] = v[i].at;
	return 0;
}

#define ROOM 1.1 /* kernels that together need up to this many times the multiprocessors, with about
		    one block on each, fit beside each other */
#define FEW 0.5	 /* a kernel on at most this share of the multiprocessors leaves room for another */

/* Lanes ------------------------------------------------------------------------*/

struct lane_use { /* the last streams that used a lane, while lanes are built */
	struct nsx_latest last;
	bool shared;
};

/* Adds an operation to a lane. Returns whether the lane was still busy when the operation started.
 */
static bool use_lane(struct lane_use *u, const struct model_op *o)
{
	int64_t end = NSX_MAX(u->last.end_ns[0], u->last.end_ns[1]);

	u->shared |= u->last.end_ns[u->last.group[0] == o->stream] != NEVER;
	nsx_latest_add(&u->last, o->stream, model_op_end(o));
	return end > o->start_ns + 1000;
}

/* The kind of an operation's lane: KERNELS, 2 for copies to the GPU, 3 for copies to the host, or
 * 0: none.
 */
enum { KERNELS = 1 };
static unsigned lane_kind(const struct model_op *o)
{
	if (!(o->flags & OP_STREAM) || (o->flags & OP_COMM))
		return 0;
	if (o->kind == NSX_OP_KERNEL || o->kind == NSX_OP_GRAPH)
		return KERNELS;
	return o->kind == NSX_OP_MEMCPY &&
			       (o->copy_kind == NSX_COPY_HTOD || o->copy_kind == NSX_COPY_DTOH) ?
		       o->copy_kind + 1u : 0;
}

/* The share of the multiprocessors that have a block of the kernel; 1: unknown. */
static double multiprocessor_share(const struct build *b, uint32_t op)
{
	const struct nsx_trace *t = b->m->t;
	const struct model_op *o = &b->m->op[op];
	const struct nsx_gpu_info *gpu = nsx_device_gpu(t, model_device(b, op));
	double blocks = o->kind != NSX_OP_KERNEL ? 0 :
			(double)nsx_shape_blocks(t, nsx_op_shape(t, o->row));

	return blocks < 1 || !gpu || gpu->sm_count < 1 ? 1 :
		       NSX_MIN(1, blocks / (double)gpu->sm_count);
}

/* Sets, by engine, the share of the multiprocessors that small kernels of all its streams need
 * together. Each stream counts with its mean over time.
 */
static int sum_needs(struct build *b, double *ret, struct nsx_err *err)
{
	const struct nsx_model *m = b->m;
	double *need, *ns;
	uint32_t *engine;

	if (nsx_new_arrays(b->step, m->nstreams, "streams", err, need, ns, engine))
		return err->rc;
	for (uint32_t i = 0; i < m->nops; i++) {
		const struct model_op *o = &m->op[i];
		double part = lane_kind(o) == KERNELS ? multiprocessor_share(b, i) : 1;

		if (part > FEW)
			continue;
		engine[o->stream] = o->engine;
		ns[o->stream] += (double)o->length_ns;
		need[o->stream] += (double)o->length_ns * part;
	}
	for (uint32_t s = 0; s < m->nstreams; s++)
		if (ns[s] > 0)
			ret[engine[s]] += need[s] / ns[s];
	return 0;
}

/* Assigns operations to lanes. Work on a lane does not overlap, even if it is of several streams or
 * processes. Work that did overlap in the recording, or leaves room, gets no lane. Small kernels
 * leave room if those of all streams together have about one block per multiprocessor.
 */
static int make_lanes(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	NSX_AT_EXIT(nsx_groups_done) struct nsx_groups groups = {0};
	NSX_AT_EXIT(nsx_free_at) struct lane_use *use = NULL;
	uint8_t *beside;
	double *needs; /* one for each engine */
	int rc = nsx_new_arrays(b->step, m->nops, "lanes", err, beside) ?:
		 nsx_new_arrays(b->step, m->nengines, "engines", err, needs) ?:
		 sum_needs(b, needs, err);

	for (uint32_t i = 0; !rc && i < m->nops; i++) {
		struct model_op *o = &m->op[i];
		unsigned kind = lane_kind(o);
		size_t known = groups.n;
		struct lane_use *lane;

		if (!kind)
			continue;
		lane = nsx_group_value(&groups, &use, model_device(b, i), kind, "lanes", err);
		rc = lane ? 0 : err->rc;
		if (rc)
			break;
		if (groups.n > known)
			*lane = (struct lane_use){NSX_LATEST, false};
		o->lane = (uint32_t)(lane - use);
		beside[i] = use_lane(lane, o) ||
			    (kind == KERNELS && needs[o->engine] <= ROOM &&
			     multiprocessor_share(b, i) <= FEW);
	}
	for (uint32_t i = 0; !rc && i < m->nops; i++)
		if (m->op[i].lane != NSX_NONE && (beside[i] || !use[m->op[i].lane].shared))
			m->op[i].lane = NSX_NONE;
	m->nlanes = (uint32_t)groups.n;
	return rc;
}

/* Final dependencies ------------------------------------------------------------------ */

static int pack_deps(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	uint32_t n = 0;

	if (!nsx_new_array(m->dep, m->arena, b->nlinks, "dependencies", err))
		return err->rc;
	for (uint32_t i = 0; i < m->nops; i++) {
		m->op[i].dep = n;
		for (uint32_t k = b->link_head[i]; k != NSX_NONE; k = b->link[k].next)
			m->dep[n++] = (struct model_dep){
				b->link[k].op,
				(int32_t)NSX_MAX(b->link[k].weight_ns, INT32_MIN),
				b->link[k].call};
	}
	m->op[m->nops].dep = n;
	return 0;
}

/* Sets the state of meetings, streams, engines and lanes at the start of the window. */
static int set_initial_state(struct nsx_model *m, struct nsx_err *err)
{
	struct nsx_arena *a = m->arena;

	if (nsx_new_arrays(a, m->nstreams, "streams", err, m->stream_end) ||
	    nsx_new_arrays(a, m->nengines, "engines", err, m->engine_end) ||
	    nsx_new_arrays(a, m->nlanes, "lanes", err, m->lane))
		return err->rc;
	for (uint32_t s = 0; s < m->nstreams; s++)
		m->stream_end[s] = NEVER;
	for (uint32_t e = 0; e < m->nengines; e++)
		m->engine_end[e] = NEVER;
	for (uint32_t k = 0; k < m->nlanes; k++)
		m->lane[k].floor_ns = NEVER;
	for (uint32_t i = 0; i < m->ncalls; i++) {
		const struct model_call *c = &m->call[i];

		if (c->kind == CALL_MPI && c->room != NSX_NONE && (c->flags & CALL_FIXED_START))
			model_fix_meet(m, c->room, c->start_ns);
	}
	for (uint32_t i = 0; i < m->nops; i++) {
		const struct model_op *o = &m->op[i];
		int64_t end = model_op_end(o);

		if (!(o->flags & OP_FIXED))
			continue;
		if (o->flags & OP_STREAM)
			m->stream_end[o->stream] = end;
		m->engine_end[o->engine] = NSX_MAX(m->engine_end[o->engine], end);
		if (o->lane != NSX_NONE &&
		    lane_reserve(&m->lane[o->lane], o->start_ns, o->length_ns, err) == NEVER)
			return err->rc;
	}
	return 0;
}

/* Measures the recorded length: from the last end of work before the window, or the first start if
 * there is no such work, to the last end in the window.
 */
static int measure_recorded(struct nsx_model *m, struct nsx_err *err)
{
	int64_t from = NEVER, to = NEVER, first = INT64_MAX;

	if (!nsx_new_array(m->measured, m->arena, m->nops, "replay order", err))
		return err->rc;

	for (uint32_t i = 0; i < m->nops; i++) {
		const struct model_op *o = &m->op[i];
		int64_t end = model_op_end(o);

		if (end <= m->closure.window.start_ns)
			from = NSX_MAX(from, end);
		first = NSX_MIN(first, o->start_ns);
		if (!(o->flags & OP_MEASURED))
			continue;
		to = NSX_MAX(to, end);
		m->measured[m->nmeasured++] = i;
	}
	m->from_ns = from;
	m->closure.recorded_ns = to == NEVER ? 0 : to - (from == NEVER ? first : from);
	return 0;
}

int model_order(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	struct keys k;
	bool settled = false;
	int64_t *effect;

	if (nsx_new_arrays(b->step, m->ncalls, "calls to replay", err,
			   effect) || pack_deps(b, err) || make_lanes(b, err) ||
	    make_keys(b, &k, &settled, err))
		return err->rc;
	if (!settled) {
		m->closure.reason = "recorded events contradict their order";
		return 0;
	}
	if (find_effects(b, effect, err))
		return err->rc;
	flag_active_calls(m, effect);
	nsx_arena_drop(b->step, effect);
	flag_active_ops(m);
	return measure_recorded(m, err) ?: sort_steps(b, &k, err) ?: set_initial_state(m, err);
}
