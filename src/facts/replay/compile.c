/* compile.c - translates changes into an edit, which says for each event how it differs from the
 * recording.
 */
#include <math.h>
#include "base/regex.h"
#include "base/stat.h"
#include "facts/outside.h"
#include "facts/replay/compile.h"

#define LEAST_AMOUNT 1e-3 /* changes may slow events down, but not below this factor of speed */
#define SHORT_NS 1000 /* shorter gaps hold no wait                           */
enum { MIN_BEFORE = 3 }; /* NSX_HOLD_CLOCK needs this many kernels of a shape before `when` */

enum { ASKED_YES = 1, ASKED_NO = 2 };

/* Names -----------------------------------------------------------------------*/

static bool selects_name(const struct select *s, const char *name)
{
	if (!s->c->name)
		return true;
	return s->c->is_pattern ? nsx_regex_matches(s->regex, name) : !strcmp(s->c->name, name);
}

static bool selects_text(const struct select *s, nsx_str text)
{
	return s->c->name && !s->c->is_pattern ?
		       text && text == s->name :
		       selects_name(s, nsx_text(s->m->t, text));
}

static bool selects_api(struct select *s, uint32_t api)
{
	if (!s->api[api])
		s->api[api] = selects_name(s, s->m->api[api].name) ? ASKED_YES : ASKED_NO;
	return s->api[api] == ASKED_YES;
}

static bool selects_shape(struct select *s, uint32_t i)
{
	const struct nsx_trace *t = s->m->t;
	const struct nsx_shape *x = &t->shape[i];

	if (!s->shape[i]) {
		const struct nsx_kernel_names *k = &s->m->f->kernels;
		bool fits = selects_text(s, t->shape_name[i]) ||
			    selects_text(s, x->base_name) ||
			    (s->c->is_pattern &&
			     selects_name(s, nsx_kernel_label(k, t->shape_name[i])));

		if (fits && s->c->family)
			fits = !strcmp(s->c->family, nsx_kernel_of_shape(k, i)->words->family);
		s->shape[i] = fits ? ASKED_YES : ASKED_NO;
	}
	return s->shape[i] == ASKED_YES;
}

static bool selects_row(const struct select *s, uint32_t row)
{
	if (!s->c->rows.only)
		return true;
	if (!s->c->rows.n || row < s->first_row || row > s->last_row)
		return false;
	row -= s->first_row;
	return s->rows[row / 8] >> row % 8 & 1;
}

static int list_rows(struct select *s, struct nsx_err *err)
{
	const struct nsx_rows *r = &s->c->rows;

	if (!r->n)
		return 0;
	s->first_row = nsx_run_first(r, 0);
	s->last_row = nsx_run_end(r, r->nruns - 1) - 1;
	if (!nsx_new_array(s->rows, s->a, (size_t)(s->last_row - s->first_row) / 8 + 1,
			   "rows of a change", err))
		return err->rc;
	NSX_EACH_ROW(r, row) {
		uint32_t bit = row - s->first_row;

		s->rows[bit / 8] |= (uint8_t)(1 << bit % 8);
	}
	return 0;
}

static bool selects_time(const struct nsx_change *c, int64_t at_ns)
{
	return c->when.start_ns == c->when.end_ns ||
	       (at_ns >= c->when.start_ns && at_ns < c->when.end_ns);
}

/* Calls, gaps and operations --------------------------------------------------------*/

/* Checks thread, process and time of a call, but not its name. */
static bool selects_caller(const struct select *s, const struct model_call *call)
{
	const struct nsx_change *c = s->c;
	const struct nsx_trace *t = s->m->t;
	uint32_t h = nsx_call_thread(t, call->row);

	return selects_time(c, call->start_ns) &&
	       (!(c->by & NSX_BY_THREAD) || c->thread == h) &&
	       (!(c->by & NSX_BY_PROCESS) ||
		c->process == t->thread[h].process);
}

static bool selects_range_of_call(const struct select *s, const struct model_call *call)
{
	return !s->c->range ||
	       span_list_has(&s->times, nsx_call_thread(s->m->t, call->row), call->start_ns);
}

static bool selects_call(struct select *s, uint32_t i)
{
	const struct model_call *call = &s->m->call[i];

	return (call->flags & CALL_ACTIVE) && selects_api(s, call->api) &&
	       (call->kind != CALL_MPI || !s->c->rows.only) &&
	       selects_row(s, call->row) && selects_caller(s, call) &&
	       selects_range_of_call(s, call);
}

/* The thread whose last call handed over to this call, and which thus works in the gap before it;
 * NSX_NONE: none.
 */
static uint32_t handing_thread(const struct select *s, const struct model_call *call)
{
	uint32_t from = nsx_call_thread(s->m->t, s->m->call[call->before].row);

	return from == nsx_call_thread(s->m->t, call->row) ? NSX_NONE : from;
}

/* Whether the change selects the work that another thread does in this gap: the work before the
 * next call of the thread that handed over.
 */
static bool selects_handing_call(const struct select *s, const struct model_call *call)
{
	const struct nsx_trace *t = s->m->t;
	uint32_t row = s->m->call[call->before].row, from = handing_thread(s, call);
	const struct nsx_thread *th;

	if (!s->c->rows.only || from == NSX_NONE)
		return false;
	th = &t->thread[from];
	do
		row++;
	while (row < th->calls_at + th->ncalls && t->calls.flags[row] & NSX_CALL_NESTED);
	return row < th->calls_at + th->ncalls && selects_row(s, row);
}

/* Whether the change selects the gap before call i. Its range is not checked, because only the part
 * of a gap inside the range counts.
 */
static bool selects_gap(const struct select *s, uint32_t i)
{
	const struct model_call *call = &s->m->call[i];

	return (call->flags & CALL_ACTIVE) && call->before != NSX_NONE &&
	       (selects_row(s, call->row) || selects_handing_call(s, call)) &&
	       selects_caller(s, call);
}

static bool selects_stream(const struct nsx_change *c, const struct nsx_trace *t, uint32_t op)
{
	const struct nsx_stream *stream = nsx_stream_of(t, op);

	return (!(c->by & NSX_BY_PROCESS) || c->process == stream->process) &&
	       (!(c->by & NSX_BY_DEVICE) || c->device == stream->device) &&
	       (!(c->by & NSX_BY_STREAM) ||
		c->stream == nsx_op_stream(&t->ops, op));
}

static bool selects_op(struct select *s, uint32_t i)
{
	const struct nsx_change *c = s->c;
	const struct nsx_trace *t = s->m->t;
	const struct model_op *o = &s->m->op[i];

	if (!(o->flags & OP_ACTIVE) || !selects_row(s, o->row) ||
	    !selects_time(c, o->start_ns) ||
	    (c->op && !(c->op >> o->kind & 1)) ||
	    (c->copy_kind && c->copy_kind != o->copy_kind) ||
	    (c->by && !selects_stream(c, t, o->row)))
		return false;
	if ((c->name || c->family) &&
	    (o->kind != NSX_OP_KERNEL ||
	     !selects_shape(s, nsx_op_detail(&t->ops, o->row))))
		return false;
	if (!c->range && !(c->by & NSX_BY_THREAD))
		return true;
	if (o->call == NSX_NONE)
		return false;
	return (!(c->by & NSX_BY_THREAD) ||
		c->thread == nsx_call_thread(t, s->m->call[o->call].row)) &&
	       selects_range_of_call(s, &s->m->call[o->call]);
}

/* Sets flags, and counts the event as changed if none of them was set. */
static void set_edit_flag(struct select *s, uint8_t *flags, unsigned flag)
{
	*s->touched += flag && !(*flags & flag);
	*flags |= (uint8_t)flag;
}

/* Verbs on calls -------------------------------------------------------------------*/

static void remove_wait(struct select *s, uint32_t i)
{
	const struct model_call *c = &s->m->call[i];
	uint8_t *flags = &s->e->call[i];

	if (c->kind == CALL_BLOCK)
		set_edit_flag(s, flags, EDIT_CALL_ASYNC);
	else if (c->kind == CALL_SYNC || c->kind == CALL_IMPLICIT || c->kind == CALL_POLL_END)
		set_edit_flag(s, flags, EDIT_CALL_GONE);
}

static void remove_call(struct select *s, uint32_t i)
{
	set_edit_flag(s, &s->e->call[i], EDIT_CALL_GONE);
}

static void speed_up_launch(struct select *s, uint32_t i)
{
	const struct model_call *c = &s->m->call[i];

	if (c->kind == CALL_LAUNCH)
		compile_lower(s, &s->e->ns[TIME_COSTS][i], divided(c->own_ns, s->c->amount));
}

/* Removes waits, costs, and time between calls. */
static void remove_host_time(struct select *s, uint32_t i)
{
	const struct model_call *c = &s->m->call[i];
	struct edit *e = s->e;

	remove_wait(s, i);
	if (!(s->m->api[c->api].says & API_WORK))
		remove_call(s, i);
	else if (c->kind == CALL_LAUNCH)
		compile_lower(s, &e->ns[TIME_COSTS][i], 0);
	if (c->before != NSX_NONE)
		compile_lower(s, &e->ns[TIME_GAPS][i], 0);
}

/* Verbs on gaps --------------------------------------------------------------------*/

/* The time of a gap inside its thread's spans. *ret_paused_ns: how much of it lies inside waits of
 * the gap. If another thread handed over, both threads wait in the waits, and both work in the
 * rest.
 */
static int64_t gap_ns_in_spans(const struct select *s, const struct span_list *spans,
			       bool are_waits, uint32_t call, int64_t *ret_paused_ns)
{
	const struct model_call *c = &s->m->call[call];
	struct nsx_span in = {s->m->call[c->before].end_ns, c->start_ns};
	uint32_t h = nsx_call_thread(s->m->t, c->row), from = handing_thread(s, c);
	int64_t ns = span_list_within(spans, h, in);
	int64_t pause_ns = model_pause_ns(s->m, call);

	if (from != NSX_NONE && are_waits) {
		*ret_paused_ns = NSX_MIN(ns, pause_ns);
		return *ret_paused_ns;
	}
	*ret_paused_ns = pause_ns ? span_list_common(spans, &s->m->waits, h, in) : 0;
	*ret_paused_ns = NSX_MIN(*ret_paused_ns, pause_ns);
	return from == NSX_NONE ? ns : ns + span_list_within(spans, from, in);
}

/* The times that the change removes from gaps. */
static const struct span_list *removed_times(const struct select *s)
{
	switch (s->c->verb) {
	case NSX_NO_PREEMPTION:
		return &s->m->preempted;
	case NSX_NO_ABSENCE:
		return &s->m->absent;
	case NSX_NO_PROFILER:
		return &s->m->profiled;
	case NSX_NO_OS_WAIT:
		return s->c->name ? &s->times : &s->m->waits;
	default:
		return &s->times;
	}
}

/* Shortens the gap before a call by the change's times: the waits in the gap, and the code between
 * them.
 */
static void shorten_gap(struct select *s, uint32_t i)
{
	struct edit *e = s->e;
	bool are_waits = s->c->verb != NSX_DROP_RANGE;
	int64_t ns, pause_ns, paused_ns, gap = model_gap(s->m, i);

	if (gap <= SHORT_NS)
		return;
	ns = gap_ns_in_spans(s, removed_times(s), are_waits, i, &paused_ns);
	if (!ns)
		return;
	pause_ns = model_pause_ns(s->m, i);
	compile_lower(s, edit_pause(s->e, i), pause_ns - paused_ns);
	compile_lower(s, &e->ns[TIME_GAPS][i], gap - pause_ns - (ns - paused_ns));
	if (are_waits)
		e->call[i] |= EDIT_CALL_LIFTED;
}

/* The code between calls of a gap that lies inside the change's ranges. */
static int64_t gap_ns_in_ranges(const struct select *s, uint32_t call)
{
	const struct model_call *c = &s->m->call[call];
	uint32_t threads[] = {nsx_call_thread(s->m->t, c->row), handing_thread(s, c)};
	struct nsx_span in = {c->start_ns - model_gap(s->m, call), c->start_ns};
	int64_t ns = 0;

	for (unsigned i = 0; i < ARRAY_LEN(threads) && threads[i] != NSX_NONE; i++)
		ns += span_list_within(&s->times, threads[i], in) -
		      span_list_common(&s->times, &s->m->waits, threads[i], in);
	return ns;
}

/* Removes time off the CPU from a gap and the call after it. A launch gets shorter. A wait that
 * ended late because its thread was off the CPU ends in time.
 */
static void remove_lost_time(struct select *s, uint32_t i)
{
	const struct model_call *c = &s->m->call[i];
	int64_t ns = span_list_within(removed_times(s), nsx_call_thread(s->m->t, c->row),
				      model_lost_in(c));

	shorten_gap(s, i);
	if (ns && c->kind == CALL_LAUNCH)
		compile_lower(s, &s->e->ns[TIME_COSTS][i], c->own_ns - ns);
	else if (ns > c->residual_ns / 2)
		set_edit_flag(s, &s->e->call[i], EDIT_CALL_IN_TIME);
}

static void speed_up_gap(struct select *s, uint32_t i)
{
	int64_t own_ns = model_gap(s->m, i) - model_pause_ns(s->m, i);
	int64_t part = NSX_MAX(s->c->range ? gap_ns_in_ranges(s, i) : own_ns, 0);

	compile_lower(s, &s->e->ns[TIME_GAPS][i],
		    own_ns - part + NSX_MAX(divided(part, s->c->amount),
					    NSX_MIN(part, s->c->least_ns)));
}

static void remove_os_wait(struct select *s, uint32_t i)
{
	const struct model_call *c = &s->m->call[i];

	shorten_gap(s, i);
	if (s->c->name && c->kind == CALL_MPI && c->end_ns - c->start_ns >= s->c->least_ns &&
	    selects_api(s, c->api))
		remove_call(s, i);
}

/* Verbs on operations -------------------------------------------------------------*/

/* Removes the call of an operation, if it launched nothing else. */
static void remove_call_of(struct select *s, uint32_t i)
{
	uint32_t call = s->m->op[i].call;

	if (call != NSX_NONE && !(s->m->call[call].flags & CALL_MANY))
		s->e->call[call] |= EDIT_CALL_GONE;
}

/* Fuses an operation with the previous one of its stream, unless it also waits for other
 * streams.
 */
static void fuse_with_previous(struct select *s, uint32_t i)
{
	const struct model_op *o = &s->m->op[i];
	bool waits = o->flags & OP_NODE ?
			     s->m->op[o->group].stream != o->stream :
			     o->dep != o[1].dep;

	if (waits || !(o->flags & OP_STREAM))
		return;
	set_edit_flag(s, &s->e->op[i], EDIT_OP_FUSED);
	s->e->fused_gap_ns = NSX_MIN(s->e->fused_gap_ns, s->c->least_ns);
	remove_call_of(s, i);
}

static void unblock_copy(struct select *s, uint32_t i)
{
	const struct model_op *o = &s->m->op[i];

	if (o->call == NSX_NONE)
		return; /* nothing shows how early the operation could be queued */
	if (s->m->call[o->call].kind == CALL_BLOCK)
		set_edit_flag(s, &s->e->call[o->call], EDIT_CALL_ASYNC);
	if (s->c->verb != NSX_OVERLAP)
		return;
	set_edit_flag(s, &s->e->op[i], EDIT_OP_SIDE);
	s->e->has_side = true;
}

static void speed_up_op(struct select *s, uint32_t i)
{
	compile_lower(s, &s->e->ns[TIME_LENGTHS][i], divided(s->m->op[i].length_ns,
								s->c->amount));
	if (s->c->fills)
		s->e->op[i] |= EDIT_OP_FULL;
	s->e->has_full |= s->c->fills;
}

static void hide_comm(struct select *s, uint32_t i)
{
	const struct model_op *o = &s->m->op[i];

	if (o->flags & OP_MEMBER)
		set_edit_flag(s, &s->e->op[i], EDIT_OP_HIDDEN);
	else if (!s->m->nteams && (o->flags & OP_COMM))
		set_edit_flag(s, &s->e->op[i], EDIT_OP_DROP);
}

static void speed_up_comm(struct select *s, uint32_t i)
{
	if (!(s->m->op[i].flags & OP_MEMBER))
		return;
	s->e->transfer = NSX_MIN(s->e->transfer, 1 / s->c->amount);
	set_edit_flag(s, &s->e->op[i], EDIT_OP_SPED);
}

/* Gives the kernels in `when` the mean length of kernels of the same shape before it. The mean is
 * used because kernels of one shape may do different work.
 */
static int apply_earlier_clock(struct select *s, struct nsx_err *err)
{
	const struct nsx_model *m = s->m;
	const struct nsx_trace *t = m->t;
	struct { /* one for each shape */
		double before_ns, ns;
		size_t nbefore, n;
	} *v;

	if (!nsx_new_array(v, s->a, t->nshapes, "kernels", err))
		return err->rc;
	for (uint32_t i = 0; i < m->nops; i++) {
		const struct model_op *o = &m->op[i];
		uint32_t shape = nsx_op_detail(&t->ops, o->row);

		if (o->kind != NSX_OP_KERNEL)
			continue;
		if (o->start_ns < s->c->when.start_ns) {
			v[shape].before_ns += (double)o->length_ns;
			v[shape].nbefore++;
		} else if (selects_op(s, i)) {
			v[shape].ns += (double)o->length_ns;
			v[shape].n++;
		}
	}
	for (uint32_t i = 0; i < m->nops; i++) {
		const struct model_op *o = &m->op[i];
		uint32_t shape = nsx_op_detail(&t->ops, o->row);
		double times;

		if (o->kind != NSX_OP_KERNEL || (o->flags & OP_COMM) ||
		    !selects_op(s, i) || v[shape].nbefore < MIN_BEFORE)
			continue;
		times = v[shape].before_ns / (double)v[shape].nbefore /
			(v[shape].ns / (double)v[shape].n);
		if (times < 1)
			compile_lower(s, &s->e->ns[TIME_LENGTHS][i],
				    (int64_t)(times * (double)o->length_ns));
	}
	return 0;
}

static int remove_peer_waits(struct select *s, struct nsx_err *err NSX_UNUSED)
{
	struct edit *e = s->e;

	e->pieces = s->c->amount > 1 ? s->c->amount : INFINITY;
	e->turn_ns = s->c->amount > 1 ? s->c->most_ns : INT64_MAX;
	*s->touched += s->m->nteams;
	return 0;
}

/* Changes ---------------------------------------------------------------------------*/

/* The effects of each verb on the selected calls, gaps and operations, or on all at once. */
static const struct verb {
	unsigned needs; /* times that it changes; see edit_need              */
	uint8_t call_flag, op_flag; /* flags that it sets                    */
	void (*call)(struct select *s, uint32_t i);
	void (*gap)(struct select *s, uint32_t i);
	void (*op)(struct select *s, uint32_t i);
	int (*all)(struct select *s, struct nsx_err *err);
} verbs[NSX_NVERBS] = {
	[NSX_NO_WAIT] = {.call = remove_wait},
	[NSX_NO_COST] = {.call_flag = EDIT_CALL_GONE},
	[NSX_UNTIE] = {.call_flag = EDIT_CALL_GONE | EDIT_CALL_UNTIED},
	[NSX_FASTER_LAUNCH] = {1 << TIME_COSTS, .call = speed_up_launch},
	[NSX_FASTER_HOST] = {1 << TIME_GAPS, .gap = speed_up_gap},
	[NSX_NO_OS_WAIT] = {1 << TIME_GAPS, .gap = remove_os_wait},
	[NSX_NO_PREEMPTION] = {1 << TIME_GAPS | 1 << TIME_COSTS, .gap = remove_lost_time},
	[NSX_NO_ABSENCE] = {1 << TIME_GAPS | 1 << TIME_COSTS, .gap = remove_lost_time},
	[NSX_NO_PROFILER] = {1 << TIME_GAPS, .gap = shorten_gap},
	[NSX_INSTANT_HOST] = {1 << TIME_GAPS | 1 << TIME_COSTS, .call = remove_host_time},
	[NSX_FASTER] = {1 << TIME_LENGTHS, .op = speed_up_op},
	[NSX_DROP] = {.op_flag = EDIT_OP_DROP, .op = remove_call_of},
	[NSX_ASYNC_COPY] = {.op = unblock_copy},
	[NSX_OVERLAP] = {.op = unblock_copy},
	[NSX_CUT] = {.op_flag = EDIT_OP_CUT},
	[NSX_FUSE] = {.op = fuse_with_previous},
	[NSX_HOLD_CLOCK] = {1 << TIME_LENGTHS, .all = apply_earlier_clock},
	[NSX_HIDE_COMM] = {.op = hide_comm},
	[NSX_FASTER_COMM] = {.op = speed_up_comm},
	[NSX_NO_PEER_WAIT] = {.all = remove_peer_waits},
	[NSX_SHARE_WORK] = {1 << TIME_LENGTHS, .all = compile_shared_work},
	[NSX_EVEN_RANK] = {(1 << NTIMES) - 1, .all = compile_even_rank},
	[NSX_DROP_RANGE] = {1 << TIME_GAPS, .call_flag = EDIT_CALL_GONE, .gap = shorten_gap,
			    .op_flag = EDIT_OP_DROP},
};

static int apply_verb(struct select *s, struct nsx_err *err)
{
	const struct verb *v = &verbs[s->c->verb];
	bool of_calls = v->call || v->call_flag, of_ops = v->op || v->op_flag;

	if (edit_need(s->e, v->needs, err))
		return err->rc;
	for (uint32_t i = 0; (of_calls || v->gap) && i < s->m->ncalls; i++) {
		if (of_calls && selects_call(s, i)) {
			set_edit_flag(s, &s->e->call[i], v->call_flag);
			if (v->call)
				v->call(s, i);
		}
		if (v->gap && selects_gap(s, i))
			v->gap(s, i);
	}
	for (uint32_t i = 0; of_ops && i < s->m->nops; i++) {
		if (!selects_op(s, i))
			continue;
		set_edit_flag(s, &s->e->op[i], v->op_flag);
		if (v->op)
			v->op(s, i);
	}
	return v->all ? v->all(s, err) : 0;
}

static int list_os_calls(struct select *s, struct nsx_err *err)
{
	struct nsx_outside o;

	for (size_t at = 0; nsx_outside_next(s->m->t, &at, &o);)
		if (o.end_ns - o.start_ns >= s->c->least_ns && selects_text(s, o.name) &&
		    span_list_add(&s->times, o.thread, o.start_ns, o.end_ns, err))
			return err->rc;
	return 0;
}

static int list_ranges(struct select *s, struct nsx_err *err)
{
	const struct nsx_trace *t = s->m->t;
	const struct nsx_nvtx *x = &t->nvtx;
	nsx_str name = nsx_strings_find(t->strings, s->c->range);
	bool any = strchr(s->c->range, '#'); /* "#" stands for any number */
	int rc = 0;

	for (uint32_t h = 0; (name || any) && !rc && h < t->nthreads; h++) {
		const struct nsx_thread *th = &t->thread[h];

		for (uint32_t i = th->nvtx_at; !rc && th->ncalls &&
		     i < th->nvtx_at + th->nnvtx; i++) {
			if (x->kind[i] != NSX_NVTX_STACK ||
			    (x->name[i] != name &&
			     !(any && nsx_is_shown_as(nsx_text(t, x->name[i]), s->c->range))))
				continue;
			rc = span_list_add(&s->times, h, nsx_range_start(x, i),
					   nsx_range_end(x, i), err);
		}
	}
	return rc;
}

static int apply_change(struct edit *e, struct nsx_plan plan,
			const struct nsx_change *c, struct nsx_arena *a,
			size_t *touched, struct nsx_err *err)
{
	struct nsx_change change = *c;
	struct select s = {.c = &change, .plan = plan, .e = e, .m = e->m,
			   .a = a, .touched = touched};
	int rc = 0;

	if (!(change.amount >= LEAST_AMOUNT))
		change.amount = change.amount > 0 ? LEAST_AMOUNT : 1;
	if (nsx_new_arrays(a, e->m->napis, "API names", err, s.api) ||
	    nsx_new_arrays(a, e->m->t->nshapes, "kernels", err, s.shape))
		return err->rc;
	if (c->is_pattern && c->name && nsx_regex_new(c->name, &s.regex, err))
		return nsx_wrap(err, "cannot use the pattern '%s'", c->name);
	if (c->name)
		s.name = nsx_strings_find(e->m->t->strings, c->name);
	rc = list_rows(&s, err);
	if (!rc && c->verb == NSX_NO_OS_WAIT && c->name)
		rc = list_os_calls(&s, err);
	else if (!rc && c->range)
		rc = list_ranges(&s, err);
	span_list_sort(&s.times);
	rc = rc ?: apply_verb(&s, err);
	span_list_done(&s.times);
	nsx_regex_free(s.regex);
	return rc;
}

int compile_changes(struct edit *e, struct nsx_plan plan, size_t from,
		    size_t *touched, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	int rc = 0;

	for (size_t i = from; !rc && i < plan.n; i++) {
		rc = apply_change(e, plan, &plan.v[i], a, touched, err);
		nsx_arena_clear(a);
	}
	return rc;
}
