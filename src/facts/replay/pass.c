/* pass.c - plays an edit in one forward pass over the model's events. */
#include "facts/occupancy.h"
#include "facts/replay/pass.h"

#define TOUCH_NS 1000	   /* busy times of a lane with smaller gaps are merged */
#define ASYNC_CALL_NS 5000 /* longest call of a copy that no longer blocks   */
#define ASYNC_GAP_NS 1500
#define SIDE_GAP_NS 1000   /* gap between copies with EDIT_OP_SIDE on one engine    */
#define DEP_NS 2000
#define START_NS 20000 /* upper limit of a transfer's fixed cost           */
enum { MAX_STRETCHES = 1024 };

/* Lanes -------------------------------------------------------------------------*/

int64_t lane_reserve(struct lane *lane, int64_t at_ns, int64_t length_ns, struct nsx_err *err)
{
	struct nsx_span *v;
	size_t j = lane->n;

	at_ns = NSX_MAX(at_ns, lane->floor_ns);
	while (j && lane->v[j - 1].end_ns > at_ns)
		j--;
	for (; j < lane->n && lane->v[j].start_ns < at_ns + length_ns; j++)
		at_ns = NSX_MAX(at_ns, lane->v[j].end_ns);
	if (j && at_ns - lane->v[j - 1].end_ns < TOUCH_NS) {
		j--;
	} else {
		if (lane->n == MAX_STRETCHES) {
			size_t half = MAX_STRETCHES / 2;

			if (j < half)
				half = j;
			lane->floor_ns = NSX_MAX(lane->floor_ns, lane->v[half].start_ns);
			memmove(lane->v, lane->v + half, (lane->n - half) * sizeof(*lane->v));
			lane->n -= half;
			j -= half;
		}
		if (nsx_grow(&lane->v, &lane->cap, lane->n + 1, sizeof(*lane->v), "lanes", err))
			return NEVER;
		v = lane->v + j;
		memmove(v + 1, v, (lane->n - j) * sizeof(*v));
		lane->n++;
		v->start_ns = at_ns;
	}
	v = lane->v + j;
	v->end_ns = at_ns + length_ns;
	if (j + 1 < lane->n && v[1].start_ns - v->end_ns < TOUCH_NS) {
		v->end_ns = NSX_MAX(v->end_ns, v[1].end_ns);
		memmove(v + 1, v + 2, (lane->n - j - 2) * sizeof(*v));
		lane->n--;
	}
	return at_ns;
}

static int copy_lanes_of_model(struct player *p, struct nsx_err *err)
{
	for (uint32_t k = 0; k < p->m->nlanes; k++) {
		const struct lane *from = &p->m->lane[k];
		struct lane *to = &p->lane[k];

		if (nsx_grow(&to->v, &to->cap, from->n, sizeof(*to->v), "lanes", err))
			return err->rc;
		if (from->n)
			memcpy(to->v, from->v, from->n * sizeof(*to->v));
		to->n = from->n;
		to->floor_ns = from->floor_ns;
	}
	return 0;
}

/* Edits -------------------------------------------------------------------------*/

int edit_new(struct edit *e, const struct nsx_model *m, struct nsx_arena *a, struct nsx_err *err)
{
	*e = (struct edit){.m = m, .arena = a};
	if (nsx_new_arrays(a, m->nops, "a replay", err, e->op) ||
	    nsx_new_arrays(a, m->ncalls, "a replay", err, e->call) ||
	    nsx_new_arrays(a, m->npauses, "a replay", err, e->pause_ns))
		return err->rc;
	edit_reset(e);
	return 0;
}

void edit_reset(struct edit *e)
{
	memset(e->op, 0, e->m->nops);
	memset(e->call, 0, e->m->ncalls);
	memset(e->ns, 0, sizeof(e->ns));
	e->has_side = e->has_full = false;
	e->fused_gap_ns = INT64_MAX;
	e->transfer = 1;
	e->pieces = 0;
}

/* The number of times of a kind. */
static uint32_t count_times(const struct nsx_model *m, unsigned kind)
{
	return kind == TIME_LENGTHS ? m->nops : m->ncalls;
}

/* The memory for times of a kind, which is kept for later changes. NULL: no memory. */
static int64_t *take_edit_array(struct edit *e, unsigned kind, struct nsx_err *err)
{
	if (!e->room[kind] &&
	    !nsx_new_array(e->room[kind], e->arena, count_times(e->m, kind), "a replay", err))
		return NULL;
	return e->room[kind];
}

int edit_copy(struct edit *to, const struct edit *from, struct nsx_err *err)
{
	const struct nsx_model *m = from->m;
	struct edit own = *to;

	*to = *from;
	to->arena = own.arena;
	to->op = memcpy(own.op, from->op, m->nops);
	to->call = memcpy(own.call, from->call, m->ncalls);
	to->pause_ns = memcpy(own.pause_ns, from->pause_ns, m->npauses * sizeof(*own.pause_ns));
	memcpy(to->room, own.room, sizeof(own.room));
	for (unsigned k = 0; k < NTIMES; k++) {
		if (!from->ns[k])
			continue;
		to->ns[k] = take_edit_array(to, k, err);
		if (!to->ns[k])
			return err->rc;
		memcpy(to->ns[k], from->ns[k], count_times(m, k) * sizeof(*to->ns[k]));
	}
	return 0;
}

/* Fills the edit's times of a kind with those of the recording. */
static void take_recorded_times(struct edit *e, unsigned kind)
{
	const struct nsx_model *m = e->m;
	int64_t *ns = e->ns[kind];

	for (uint32_t i = 0; i < count_times(m, kind); i++)
		ns[i] = model_time(m, kind, i);
	for (size_t k = 0; kind == TIME_GAPS && k < m->npauses; k++) {
		e->pause_ns[k] = m->pause[k].ns;
		ns[m->pause[k].call] -= m->pause[k].ns;
	}
}

int edit_need(struct edit *e, unsigned what, struct nsx_err *err)
{
	for (unsigned kind = 0; kind < NTIMES; kind++) {
		if (!(what >> kind & 1) || e->ns[kind])
			continue;
		e->ns[kind] = take_edit_array(e, kind, err);
		if (!e->ns[kind])
			return err->rc;
		take_recorded_times(e, kind);
	}
	return 0;
}

/* Players -----------------------------------------------------------------------*/

int player_new(const struct nsx_model *m, struct player **ret, struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	struct player *p = nsx_arena_get(a, sizeof(*p));

	p->m = m;
	p->arena = a;
	if (nsx_new_arrays(a, m->nlanes, "a replay", err, p->lane) ||
	    edit_new(&p->edit, m, a, err) ||
	    nsx_new_arrays(a, m->nops, "a replay", err, p->op_start, p->op_end) ||
	    nsx_new_arrays(a, m->ncalls, "a replay", err, p->call_start, p->call_end) ||
	    nsx_new_arrays(a, m->nstreams, "a replay", err, p->stream_end) ||
	    nsx_new_arrays(a, m->nengines, "a replay", err, p->engine_end, p->filled_ns) ||
	    nsx_new_arrays(a, (size_t)m->t->nprocesses + 1, "a replay", err, p->side_end) ||
	    nsx_new_arrays(a, m->nteams, "a replay", err, p->missing) ||
	    nsx_new_arrays(a, m->nmeets, "a replay", err, p->met_ns)) {
		player_free(p);
		return err->rc;
	}
	for (uint32_t i = 0; i < m->ncalls; i++) {
		p->call_start[i] = m->call[i].start_ns;
		p->call_end[i] = m->call[i].end_ns;
	}
	for (uint32_t i = 0; i < m->nops; i++) {
		p->op_start[i] = m->op[i].start_ns;
		p->op_end[i] = model_op_end(&m->op[i]);
	}
	*ret = p;
	return 0;
}

void player_free(struct player *p)
{
	if (!p)
		return;
	for (uint32_t k = 0; p->lane && k < p->m->nlanes; k++)
		free(p->lane[k].v);
	nsx_arena_free(p->arena);
}

/* Playing -----------------------------------------------------------------------*/

/* The end of a wait for something outside CUDA. With PLAY_FIXED it is no earlier than recorded. */
static int64_t outside_wait_end(struct player *p, unsigned how, int64_t ns, int64_t recorded_ns)
{
	p->was_early |= ns < recorded_ns;
	return how & PLAY_FIXED ? NSX_MAX(ns, recorded_ns) : ns;
}

/* The start of a call whose gap holds a wait for an operation: the recorded delay after that
 * operation's end, or later if the thread arrives later. If the wait was traced, the rest of the
 * gap is code, which a change may have shortened.
 */
static int64_t awaited_until(const struct player *p, uint32_t i)
{
	const struct nsx_model *m = p->m;
	const struct model_call *c = &m->call[i];
	uint32_t op = model_awaited(m, i);
	int64_t delay_ns = c->start_ns - model_op_end(&m->op[op]), code_ns = 0;

	if (c->flags & CALL_PAUSE) {
		int64_t recorded_ns = model_gap(m, i) - model_pause_ns(m, i);

		code_ns = p->edit.ns[TIME_GAPS] && (c->flags & CALL_ACTIVE) ? p->edit.ns[TIME_GAPS][i] :
								      recorded_ns;
		delay_ns = NSX_MAX(0, delay_ns - (recorded_ns - code_ns));
	}
	return NSX_MAX(p->call_end[c->before] + code_ns, p->op_end[op] + delay_ns);
}

/* Whether the operation that a polling loop waits for has ended by then: the loop is left. */
static bool is_loop_left(const struct player *p, const struct model_call *c, int64_t at_ns)
{
	uint32_t op = c->kind == CALL_POLLED ? c->room : p->m->wait[c->wait];

	return p->op_end[op] != NEVER && p->op_end[op] <= at_ns;
}

static void start_call(struct player *p, unsigned how, uint32_t i)
{
	const struct nsx_model *m = p->m;
	const struct model_call *c = &m->call[i];
	int64_t gap, start = c->start_ns;

	if (c->flags & CALL_FIXED_START)
		return;
	if (c->before != NSX_NONE) {
		gap = p->edit.ns[TIME_GAPS] && (c->flags & CALL_ACTIVE) ?
			      p->edit.ns[TIME_GAPS][i] + *edit_pause(&p->edit, i) :
			      c->start_ns - m->call[c->before].end_ns;
		start = p->call_end[c->before] + gap;
		if (c->flags & CALL_AWAITS)
			start = awaited_until(p, i);
		if ((c->flags & CALL_OUTSIDE) && !(p->edit.call[i] & EDIT_CALL_LIFTED))
			start = outside_wait_end(p, how, start, c->start_ns);
		if ((c->kind == CALL_POLLED || c->kind == CALL_POLL_END) &&
		    is_loop_left(p, c, p->call_end[c->before]))
			start = p->call_end[c->before];
	}
	p->call_start[i] = start;
	if (c->kind == CALL_MPI && c->room != NSX_NONE)
		p->met_ns[c->room] = NSX_MAX(p->met_ns[c->room], start);
}

/* The end of an MPI call: the call's own time after all calls for which it waits have begun. */
static int64_t end_mpi(struct player *p, unsigned how, uint32_t i)
{
	const struct model_call *c = &p->m->call[i];
	int64_t last = p->call_start[i];

	for (uint32_t w = c->wait; w < c[1].wait; w++)
		last = NSX_MAX(last, p->met_ns[p->m->wait[w]]);
	last += c->own_ns;
	return c->flags & CALL_LONG ? outside_wait_end(p, how, last, c->end_ns) : last;
}

static void end_call(struct player *p, unsigned how, const struct typical *typical, uint32_t i)
{
	const struct nsx_model *m = p->m;
	const struct model_call *c = &m->call[i];
	bool active = c->flags & CALL_ACTIVE;
	int64_t start = p->call_start[i], end, side;
	int64_t lambda = typical ? typical->lambda_ns[i] : c->lambda_ns;

	if (c->flags & CALL_FIXED_END)
		return;
	if (active && (p->edit.call[i] & EDIT_CALL_GONE)) {
		p->call_end[i] = start;
		return;
	}
	if (active && (p->edit.call[i] & EDIT_CALL_ASYNC)) {
		p->call_end[i] = start + NSX_MIN(ASYNC_CALL_NS, c->end_ns - c->start_ns);
		return;
	}
	if (c->kind == CALL_MPI) {
		p->call_end[i] = end_mpi(p, how, i);
		return;
	}
	end = start + (active && p->edit.ns[TIME_COSTS] ? p->edit.ns[TIME_COSTS][i] : c->own_ns);
	if (c->kind == CALL_POLLED) {
		p->call_end[i] = is_loop_left(p, c, start) ? start : end;
		return;
	}
	for (uint32_t w = c->wait; w < c[1].wait; w++) {
		int64_t done = p->op_end[m->wait[w]];

		if (done != NEVER && (!typical || done > start))
			end = NSX_MAX(end, done + lambda);
	}
	if (p->edit.has_side && (c->flags & CALL_WIDE)) {
		uint32_t process = m->t->thread[nsx_call_thread(m->t, c->row)].process;

		side = p->side_end[NSX_MIN(process, m->t->nprocesses)];
		if (side != NEVER)
			end = NSX_MAX(end, side + lambda);
	}
	if (c->room != NSX_NONE)
		end = NSX_MAX(end, p->op_start[c->room] + lambda);
	if (!active || !(p->edit.call[i] & EDIT_CALL_IN_TIME))
		end += c->residual_ns;
	p->call_end[i] = end;
}

/* The start of a fused operation, right after the previous work of its stream; NEVER: it is not
 * fused.
 */
static int64_t fused_start(const struct player *p, uint32_t i)
{
	const struct model_op *o = &p->m->op[i];

	return (o->flags & OP_ACTIVE) && (p->edit.op[i] & EDIT_OP_FUSED) ?
		       p->stream_end[o->stream] + NSX_MIN(p->edit.fused_gap_ns,
							  NSX_MAX(o->dispatch_ns, 0)) : NEVER;
}

static bool pass_is_gone(const struct player *p, uint32_t i)
{
	return (p->m->op[i].flags & OP_ACTIVE) && (p->edit.op[i] & (EDIT_OP_DROP | EDIT_OP_SIDE));
}

/* The delay of an operation after the previous work of its stream. If a copy between two kernels is
 * dropped, the delay between kernels applies: 1 us on an H200, where a copy that changes engines
 * takes 4 us.
 */
static int64_t dispatch_delay(const struct player *p, uint32_t i)
{
	const struct nsx_model *m = p->m;
	const struct model_op *o = &m->op[i];
	uint32_t before = o->before;

	if (o->kind != NSX_OP_KERNEL || before == NSX_NONE || !pass_is_gone(p, before))
		return o->dispatch_ns;
	while (before != NSX_NONE && pass_is_gone(p, before))
		before = m->op[before].before;
	return before != NSX_NONE && m->op[before].kind == NSX_OP_KERNEL ?
		       NSX_MIN(o->dispatch_ns, m->kernel_gap_ns) :
		       o->dispatch_ns;
}

/* Returns when a dependency ends; NEVER: its operation is dropped, or the edit removed the wait
 * for it.
 */
static int64_t end_of_dep(const struct player *p, const struct model_op *o,
			  const struct model_dep *x)
{
	const struct edit *e = &p->edit;

	if (e->op[x->op] & EDIT_OP_DROP)
		return NEVER;
	if ((o->flags & OP_ACTIVE) &&
	    ((e->op[x->op] & EDIT_OP_CUT) ||
	     (x->call != NSX_NONE && (e->call[x->call] & EDIT_CALL_UNTIED))))
		return NEVER;
	return p->op_end[x->op];
}

/* Makes a dropped operation's dependencies delay the next work of its stream. */
static void pass_on_waits(struct player *p, uint32_t i)
{
	const struct nsx_model *m = p->m;
	const struct model_op *o = &m->op[i];

	for (uint32_t d = o->dep; d < o[1].dep; d++)
		p->stream_end[o->stream] = NSX_MAX(p->stream_end[o->stream],
						   end_of_dep(p, o, &m->dep[d]));
}

/* The time when an operation can start, by its call, stream and dependencies. */
static int64_t op_ready_ns(const struct player *p, const struct typical *typical, uint32_t i)
{
	const struct nsx_model *m = p->m;
	const struct model_op *o = &m->op[i];
	const struct edit *e = &p->edit;
	bool active = o->flags & OP_ACTIVE;
	bool side = active && (e->op[i] & EDIT_OP_SIDE);
	bool ahead = side && o->copy_kind == NSX_COPY_HTOD;
	int64_t ready = NEVER, ns;
	uint32_t host_func;
	bool async = false;

	if (o->call != NSX_NONE) {
		const struct model_call *c = &m->call[o->call];

		ns = typical ? typical->launch_ns[i] : o->launch_ns;
		async = active && (e->call[o->call] & EDIT_CALL_ASYNC);
		if (async)
			ns = NSX_MIN(NSX_MIN(ASYNC_CALL_NS, c->end_ns - c->start_ns) + DEP_NS, ns);
		ready = (c->kind == CALL_BLOCK ? p->call_start[o->call] :
						 p->call_end[o->call]) + ns;
	}
	if (side && p->engine_end[o->engine] != NEVER)
		ready = NSX_MAX(ready, p->engine_end[o->engine] + SIDE_GAP_NS);
	/* A copy from the GPU waits for the kernels that compute the data. A copy to the GPU waits
	 * for kernels only until its buffer is free, so with another buffer it need not wait.
	 */
	if (!ahead && (o->flags & OP_STREAM) && p->stream_end[o->stream] != NEVER) {
		ns = typical ? typical->dispatch_ns[i] : dispatch_delay(p, i);
		if (async)
			ns = NSX_MIN(ns, ASYNC_GAP_NS);
		ready = NSX_MAX(ready, p->stream_end[o->stream] + ns);
	}
	for (uint32_t d = o->dep; d < o[1].dep; d++) {
		const struct model_dep *x = &m->dep[d];
		int64_t done = end_of_dep(p, o, x);

		if (done == NEVER || (ahead && m->op[x->op].kind == NSX_OP_KERNEL))
			continue;
		ready = NSX_MAX(ready, done + (typical ? DEP_NS : x->weight_ns));
	}
	if (ready == NEVER)
		ready = o->start_ns;
	host_func = active ? model_host_func(m, i) : NSX_NONE;
	if (side || (host_func != NSX_NONE && (e->call[host_func] & EDIT_CALL_GONE)))
		return ready;
	return ready + o->residual_ns;
}

/* Returns when a rank whose work is cut into pieces has met the others. The wait for its turn
 * takes a part of the recorded time. A wait for a rank that paused lasts until that rank arrives,
 * but no longer than recorded.
 */
static int64_t meet_in_pieces(const struct player *p, int64_t start, int64_t waited, int64_t last)
{
	int64_t turn = NSX_MIN(waited, p->edit.turn_ns);
	int64_t met = start + divided(turn, p->edit.pieces);

	return met + NSX_MIN(NSX_MAX(0, last - met), waited - turn);
}

/* Sets the ends of a collective's members, once its last member has started. Members stay as
 * recorded if all are from before the window.
 */
static void end_team(struct player *p, uint32_t team, bool active)
{
	const struct nsx_model *m = p->m;
	const struct model_team *t = &m->team[team];
	int64_t last = NEVER;
	bool is_fixed = true;

	for (uint32_t k = t->at; k < t->at + t->n; k++)
		if (!(p->edit.op[m->member[k]] & EDIT_OP_DROP)) {
			last = NSX_MAX(last, p->op_start[m->member[k]]);
			is_fixed &= m->op[m->member[k]].flags & OP_FIXED;
		}
	if (is_fixed)
		return;
	for (uint32_t k = t->at; k < t->at + t->n; k++) {
		uint32_t i = m->member[k];
		const struct model_op *o = &m->op[i];
		int64_t transfer = model_op_end(o) - t->last_ns;
		int64_t start = p->op_start[i], met = last;
		double pieces = active ? p->edit.pieces : 0;

		if (p->edit.op[i] & EDIT_OP_DROP)
			continue;
		if (active && (p->edit.op[i] & EDIT_OP_SPED))
			transfer = (int64_t)((double)transfer * p->edit.transfer);
		if (active && (p->edit.op[i] & EDIT_OP_HIDDEN))
			transfer = 0;
		if (pieces > 0)
			met = meet_in_pieces(p, start, t->last_ns - o->start_ns, last);
		if (pieces > 0 && !isinf(pieces))
			transfer += (int64_t)((pieces - 1) * (double)NSX_MIN(transfer, START_NS));
		p->op_end[i] = met + transfer;
		if (active && p->edit.ns[TIME_LENGTHS] && p->edit.ns[TIME_LENGTHS][i] != o->length_ns)
			p->op_end[i] = start + p->edit.ns[TIME_LENGTHS][i];
		if ((o->flags & OP_STREAM) && !(p->edit.op[i] & EDIT_OP_SIDE))
			p->stream_end[o->stream] = p->op_end[i];
	}
}

static void pass_drop_op(struct player *p, const struct model_op *o, uint32_t i)
{
	const struct nsx_model *m = p->m;
	int64_t *end;

	/* The stream continues without the operation, but unexplained delay stays and delays the
	 * next work. A blocking copy's delay goes, because it is the staging by the copy's call.
	 * An operation without a stream takes no time.
	 */
	if (o->flags & OP_STREAM) {
		end = &p->stream_end[o->stream];
		if (o->residual_ns && o->call != NSX_NONE && m->call[o->call].kind != CALL_BLOCK)
			*end = p->op_start[i];
		pass_on_waits(p, i);
		if (*end != NEVER)
			p->op_start[i] = *end;
		p->op_end[i] = p->op_start[i];
	} else {
		p->op_end[i] = NEVER;
	}
	if ((o->flags & OP_MEMBER) && !--p->missing[o->team])
		end_team(p, o->team, true);
}

static void set_op_end(struct player *p, uint32_t i, int64_t length)
{
	const struct model_op *o = &p->m->op[i];
	bool side = (o->flags & OP_ACTIVE) && (p->edit.op[i] & EDIT_OP_SIDE);
	int64_t end = p->op_start[i] + length, *last;

	p->op_end[i] = end;
	if ((o->flags & OP_STREAM) && !side)
		p->stream_end[o->stream] = end;
	else if (o->flags & OP_STREAM)
		pass_on_waits(p, i);
	if (o->flags & OP_MEMBER) {
		if (!--p->missing[o->team])
			end_team(p, o->team, o->flags & OP_ACTIVE);
		return;
	}
	if (!p->edit.has_side)
		return;
	last = &p->engine_end[o->engine];
	*last = NSX_MAX(*last, end);
	if (side) {
		last = &p->side_end[NSX_MIN(p->m->engine_rank[o->engine].process,
					    p->m->t->nprocesses)];
		*last = NSX_MAX(*last, end);
	}
}

/* The start of a node: its recorded delay after the end of the node that it followed, or after the
 * start of the launch's first node.
 */
static int64_t start_node(const struct player *p, uint32_t i)
{
	const struct model_op *o = &p->m->op[i], *x = &p->m->op[o->group];

	return model_op_end(x) <= o->start_ns && p->op_end[o->group] != NEVER ?
		       p->op_end[o->group] + o->start_ns - model_op_end(x) :
		       p->op_start[o->group] + o->start_ns - x->start_ns;
}

/* The length of an operation. A kernel cut into pieces is dispatched more often. */
static int64_t pass_length_of(const struct player *p, uint32_t i)
{
	const struct model_op *o = &p->m->op[i];
	double pieces = p->edit.pieces;

	if (!(o->flags & OP_ACTIVE))
		return o->length_ns;
	if (pieces > 0 && !isinf(pieces) && o->kind == NSX_OP_KERNEL && !(o->flags & OP_COMM))
		return o->length_ns + (int64_t)((pieces - 1) * o->dispatch_ns);
	return p->edit.ns[TIME_LENGTHS] ? p->edit.ns[TIME_LENGTHS][i] : o->length_ns;
}

static int play_op(struct player *p, unsigned how, const struct typical *typical, uint32_t i,
		   struct nsx_err *err)
{
	const struct nsx_model *m = p->m;
	const struct model_op *o = &m->op[i];
	bool active = o->flags & OP_ACTIVE;
	bool dropped = active && (p->edit.op[i] & EDIT_OP_DROP);
	int64_t length = pass_length_of(p, i), start = fused_start(p, i);

	if (start == NEVER)
		start = o->flags & OP_NODE ? start_node(p, i) : op_ready_ns(p, typical, i);
	if (!(o->flags & OP_NODE) && o->lane != NSX_NONE && !(how & PLAY_FREE) &&
	    !dropped && !(p->edit.op[i] & EDIT_OP_SIDE)) {
		int64_t ready = start;

		start = lane_reserve(&p->lane[o->lane], ready, length, err);
		if (start == NEVER)
			return err->rc;
		p->was_crowded |= start != ready;
	}
	p->op_start[i] = start;
	if (dropped)
		pass_drop_op(p, o, i);
	else
		set_op_end(p, i, length);
	return 0;
}

/* Sets the state at the start of the window. A replay writes the times of everything it plays
 * before reading them, so only members of collectives from before the window need values.
 */
static int rewind_all(struct player *p, struct nsx_err *err)
{
	const struct nsx_model *m = p->m;

	memcpy(p->stream_end, m->stream_end, (size_t)m->nstreams * 8);
	memcpy(p->engine_end, m->engine_end, (size_t)m->nengines * 8);
	for (uint32_t k = 0; k < m->nmeets; k++)
		p->met_ns[k] = m->meet[k].fixed_ns;
	for (uint32_t k = 0; p->edit.has_side && k <= m->t->nprocesses; k++)
		p->side_end[k] = NEVER;
	for (uint32_t k = 0; k < m->nteams; k++) {
		const struct model_team *t = &m->team[k];

		p->missing[k] = 0;
		for (uint32_t i = t->at; i < t->at + t->n; i++) {
			const struct model_op *o = &m->op[m->member[i]];

			if (o->flags & OP_FIXED)
				p->op_end[m->member[i]] = model_op_end(o);
			else
				p->missing[k]++;
		}
	}
	return copy_lanes_of_model(p, err);
}

/* Measures the new length of each set, and returns that of all together. */
static int64_t pass_measure(struct player *p)
{
	const struct nsx_model *m = p->m;
	int64_t from = m->from_ns, to = NEVER, first = INT64_MAX;

	for (uint32_t k = 0; k < m->nsets; k++)
		p->set_ns[k] = NEVER;
	for (uint32_t i = 0; i < m->nmeasured; i++) {
		int64_t *end = &p->set_ns[m->measured_set[i]];

		*end = NSX_MAX(*end, p->op_end[m->measured[i]]);
		to = NSX_MAX(to, *end);
	}
	for (uint32_t i = 0; from == NEVER && i < m->nops; i++)
		if (p->op_end[i] != NEVER)
			first = NSX_MIN(first, p->op_start[i]);
	if (from == NEVER)
		from = first;
	for (uint32_t k = 0; k < m->nsets; k++)
		p->set_ns[k] -= p->set_ns[k] == NEVER ? NEVER : from;
	return to == NEVER ? 0 : NSX_MAX(to - from, 0);
}

/* A kernel's use of the GPU, in ns of the whole GPU: its length times its share of the
 * multiprocessors. A kernel that is faster because it fills more of the GPU uses as much as before,
 * but at most the whole GPU while it runs.
 */
static double gpu_use_ns(const struct player *p, uint32_t i)
{
	const struct nsx_trace *t = p->m->t;
	const struct model_op *o = &p->m->op[i];
	const struct nsx_gpu_info *gpu = nsx_device_gpu(t, nsx_stream_of(t, o->row)->device);
	const struct nsx_shape *s = &t->shape[nsx_op_detail(&t->ops, o->row)];
	double length_ns = (double)pass_length_of(p, i), part;

	if (!gpu || gpu->sm_count <= 0)
		return 0;
	part = NSX_MIN(1, (double)nsx_shape_blocks(t, s) / (double)gpu->sm_count);
	return p->edit.op[i] & EDIT_OP_FULL ?
		       NSX_MIN((double)o->length_ns * part, length_ns) : length_ns * part;
}

/* Raises the new length to the time that all blocks need on their GPU, however kernels overlap:
 * kernels that fill the GPU can be faster or overlap, but not both.
 */
static int64_t limit_by_gpu_capacity(struct player *p, int64_t ns)
{
	const struct nsx_model *m = p->m;

	memset(p->filled_ns, 0, m->nengines * sizeof(*p->filled_ns));
	for (uint32_t k = 0; k < m->nmeasured; k++) {
		uint32_t i = m->measured[k], set = m->measured_set[k];
		int64_t *sum_ns = &p->filled_ns[m->op[i].engine], least_ns;

		if (m->op[i].kind != NSX_OP_KERNEL || (p->edit.op[i] & EDIT_OP_DROP))
			continue;
		*sum_ns += (int64_t)gpu_use_ns(p, i);
		least_ns = NSX_MIN(*sum_ns, m->set_ns[set]);
		p->set_ns[set] = NSX_MAX(p->set_ns[set], least_ns);
		ns = NSX_MAX(ns, least_ns);
	}
	return ns;
}

int play(struct player *p, unsigned how, const struct typical *typical,
	 int64_t *ret_ns, struct nsx_err *err)
{
	const struct nsx_model *m = p->m;

	if (rewind_all(p, err))
		return err->rc;
	p->was_crowded = p->was_early = false;
	for (uint32_t k = 0; k < m->norder; k++) {
		uint32_t i = m->order[k] >> 2;
		const struct model_call *c;

		switch (m->order[k] & 3) {
		case STEP_START:
			c = &m->call[i];
			start_call(p, how, i);
			if (c->wait == c[1].wait && c->room == NSX_NONE && !(c->flags & CALL_WIDE))
				end_call(p, how, typical, i);
			break;
		case STEP_END:
			end_call(p, how, typical, i);
			break;
		default:
			if (play_op(p, how, typical, i, err))
				return err->rc;
		}
	}
	*ret_ns = pass_measure(p);
	if (p->edit.has_full)
		*ret_ns = limit_by_gpu_capacity(p, *ret_ns);
	return nsx_stopped(err);
}
