/* host.c - finds what threads did between their calls: hand-overs and waits.
 *
 * Threads of a process that launch alternately (PyTorch's forward and backward threads) hand over
 * to each other: a call of one thread then follows the end of a call of the other. In a gap,
 * blocking OS calls, MPI calls and time off the CPU are waits. A long wait is for something
 * unrecorded.
 */
#include "base/stat.h"
#include "facts/outside.h"
#include "facts/replay/model.h"
#include "schema/cells.h"
#include "schema/viewscan.h"

#define GAP_NS 50000	   /* shorter gaps hold no hand-over and no wait     */
enum { MAX_LAUNCHERS = 16 }; /* threads of a process that may hand over to each other */

/* Hand-overs ------------------------------------------------------------------*/

struct threads { /* the calls of each thread, in order */
	uint32_t *at, *call; /* at: by thread, its slice of call             */
	uint32_t (*launcher)[MAX_LAUNCHERS]; /* for each process: threads that launch */
	uint8_t *nlaunchers;
};

static int list_threads(struct build *b, struct threads *x, struct nsx_err *err)
{
	const struct nsx_model *m = b->m;
	const struct nsx_trace *t = m->t;

	if (nsx_new_arrays(b->step, (size_t)t->nthreads + 2, "threads", err,
			   x->at) ||
	    nsx_new_arrays(b->step, m->ncalls, "calls to replay", err,
			   x->call) ||
	    nsx_new_arrays(b->step, t->nprocesses, "processes", err, x->launcher, x->nlaunchers))
		return err->rc;
	NSX_DEAL(x->at, x->call, t->nthreads, m->ncalls, i, b->thread[i]);
	for (uint32_t h = 0; h < t->nthreads; h++) {
		uint32_t p = t->thread[h].process;

		for (uint32_t k = x->at[h]; k < x->at[h + 1]; k++)
			if (m->call[x->call[k]].op != NSX_NONE) {
				if (p != NSX_NONE && x->nlaunchers[p] < MAX_LAUNCHERS)
					x->launcher[p][x->nlaunchers[p]++] = h;
				break;
			}
	}
	return 0;
}

/* The call of another thread that ended in the gap before this call and handed over to it;
 * NSX_NONE: none. After that call its thread must make no call for twice the time of the hand-over.
 * Threads that wait for a lock do not hand over, because without the lock both would continue.
 * *ret_any: whether any call of another thread ended in the gap.
 */
static uint32_t find_handing_call(const struct build *b, const struct threads *x,
				  const struct span_list *locks, uint32_t call, bool *ret_any)
{
	const struct model_call *v = b->m->call, *c = &v[call];
	uint32_t h = b->thread[call], best = NSX_NONE;
	uint32_t p = b->m->t->thread[h].process;
	struct nsx_span gap = {v[c->before].end_ns, c->start_ns};
	int64_t best_ns = gap.start_ns;

	*ret_any = false;
	for (unsigned k = 0; p != NSX_NONE && k < x->nlaunchers[p]; k++) {
		uint32_t other = x->launcher[p][k], next;
		const struct model_call *y;

		if (other == h)
			continue;
		next = NSX_SEARCH(x->at[other], x->at[other + 1], mid,
				  v[x->call[mid]].end_ns <= c->start_ns);
		if (next == x->at[other])
			continue;
		y = &v[x->call[next - 1]];
		*ret_any |= y->end_ns > gap.start_ns;
		if (y->end_ns <= best_ns ||
		    span_list_within(locks, h, (struct nsx_span){
			    y->end_ns, c->start_ns}))
			continue;
		if (next < x->at[other + 1] &&
		    v[x->call[next]].start_ns - c->start_ns < 2 * (c->start_ns - y->end_ns))
			continue;
		best = x->call[next - 1];
		best_ns = y->end_ns;
	}
	return best;
}

static bool is_launching_thread(const struct build *b, const struct threads *x, uint32_t thread)
{
	uint32_t p = b->m->t->thread[thread].process;

	return p != NSX_NONE && NSX_ANY(k, x->nlaunchers[p], x->launcher[p][k] == thread);
}

/* Links calls to the calls that handed over to them. With short calls, one call in three of two
 * unrelated threads looks like a hand-over. Hand-overs to a thread therefore count only if at least
 * half of its gaps in which calls of others ended look like hand-overs.
 */
static int link_hand_overs(struct build *b, struct threads *x,
			   const struct span_list *locks, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	uint32_t *from, *gaps, *handed;

	if (nsx_new_arrays(b->step, m->ncalls, "calls to replay", err, from) ||
	    nsx_new_arrays(b->step, m->t->nthreads, "threads", err, gaps, handed))
		return err->rc;
	for (uint32_t i = 0; i < m->ncalls; i++) {
		const struct model_call *c = &m->call[i];
		bool any;

		from[i] = NSX_NONE;
		if (c->before == NSX_NONE ||
		    c->start_ns - m->call[c->before].end_ns <= GAP_NS ||
		    !is_launching_thread(b, x, b->thread[i]))
			continue;
		from[i] = find_handing_call(b, x, locks, i, &any);
		gaps[b->thread[i]] += any;
		handed[b->thread[i]] += from[i] != NSX_NONE;
	}
	for (uint32_t i = 0; i < m->ncalls; i++)
		if (from[i] != NSX_NONE && 2 * handed[b->thread[i]] >= gaps[b->thread[i]])
			m->call[i].before = from[i];
	return 0;
}

/* Waits outside CUDA ----------------------------------------------------------------*/

static bool is_blocking_os(const char *name)
{
	static const char *const waits[] = {
		"cond_wait", "cond_timedwait", "cond_clockwait", "sem_wait",
		"sem_timedwait", "sem_clockwait", "ppoll", "select", "epoll",
		"futex", "join", "mutex", "rwlock", "accept", "recv", "wait4",
		"waitpid", "sigwait", "ioctl"};

	for (size_t i = 0; i < ARRAY_LEN(waits); i++)
		if (strstr(name, waits[i]))
			return true;
	return !strncmp(name, "poll", 4) || nsx_osrt_sleeps(name);
}

struct kinds { /* waits by cause */
	struct span_list inside; /* waits for parts of the program: other ranks (all of MPI) and
				    child processes                          */
	struct span_list locks;
};

static int host_add_waits(const struct build *b, const struct threads *x,
			  struct span_list *waits, struct kinds *k, struct nsx_err *err)
{
	const struct nsx_trace *t = b->m->t;
	struct span_list *kind;
	struct nsx_outside o;

	for (size_t at = 0; nsx_outside_next(t, &at, &o);) {
		const char *name = nsx_text(t, o.name);

		if (x->at[o.thread] == x->at[o.thread + 1] ||
		    o.end_ns - o.start_ns < GAP_NS || o.start_ns > b->to_ns ||
		    (!o.is_mpi && !is_blocking_os(name)))
			continue;
		kind = o.is_mpi || strstr(name, "waitpid") || strstr(name, "wait4") ? &k->inside :
		       strstr(name, "mutex") || strstr(name, "rwlock") ? &k->locks : NULL;
		if (span_list_add(waits, o.thread, o.start_ns, o.end_ns, err) ||
		    (kind && span_list_add(kind, o.thread, o.start_ns, o.end_ns, err)))
			return err->rc;
	}
	return 0;
}

/* Reading rows again -------------------------------------------------------------- */

struct reader { /* state of reading one table; only rows of threads with calls are kept */
	const struct nsx_trace *t;
	const struct threads *x;
	int64_t from_ns, to_ns;
	struct thread_switch {
		uint32_t thread;
		bool in, ready; /* ready: switched out although it could run */
		bool is_blocked; /* its state says that it waits             */
		bool is_told;	/* a reason other than "waiting" was recorded for the switch out */
		int64_t at_ns;
	} *v;
	size_t n, cap;
	bool knows_states;
	struct span_list spans;
};

NSX_ORDER(cmp_switches, struct thread_switch, UP(thread), UP(at_ns), UP(in), UP(ready));

static uint32_t host_thread_of(const struct reader *r, const struct nsx_val *v)
{
	uint32_t h = v->type == NSX_V_I64 ? nsx_thread_find(r->t, (uint64_t)v->u.i) : NSX_NONE;

	return h == NSX_NONE || r->x->at[h] == r->x->at[h + 1] ? NSX_NONE : h;
}

/* Whether the state is interruptible, uninterruptible, stopped, waiting, or in the operating
 * system.
 */
static bool is_blocked(int64_t state)
{
	return (state >= 2 && state <= 4) || state == 7 || state == 8;
}

static int read_switch_row(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			   struct nsx_err *err)
{
	struct reader *r = ctx;
	int64_t state = nsx_i64_or(&v[3], 0), reason = nsx_i64_or(&v[4], 0);
	bool ready = nsx_is_runnable(state, reason);
	uint32_t h;

	if (!nsx_is_possible(r->t->schema->shifts, &v[0]) || v[1].type != NSX_V_I64)
		return 0;
	r->knows_states |= !v[1].u.i && nsx_knows_states(state, reason);
	if (v[0].u.i < r->from_ns || v[0].u.i > r->to_ns)
		return 0;
	h = host_thread_of(r, &v[2]);
	if (h == NSX_NONE)
		return 0;
	return nsx_push(r->v, r->n, r->cap, "scheduling rows", err,
			(struct thread_switch){
				h, v[1].u.i, !v[1].u.i && ready,
				is_blocked(state), ready || reason > 1,
				v[0].u.i});
}

static int read_overhead_row(void *ctx, int64_t rid NSX_UNUSED,
			     const struct nsx_val *v, struct nsx_err *err)
{
	struct reader *r = ctx;
	uint32_t h;

	if (!nsx_is_span(r->t->schema->shifts, &v[0], &v[1]) ||
	    v[1].u.i < r->from_ns || v[0].u.i > r->to_ns)
		return 0;
	h = host_thread_of(r, &v[2]);
	return h == NSX_NONE || v[1].u.i <= v[0].u.i ?
		       0 : span_list_add(&r->spans, h, v[0].u.i, v[1].u.i, err);
}

/* A thread's time in OS calls inside a span. *at: see NSX_EACH_OS_CALL. */
static int64_t os_call_ns_in(const struct nsx_trace *t, uint32_t thread, struct nsx_span s,
			     size_t *at)
{
	int64_t ns = 0;

	NSX_EACH_OS_CALL(t, &t->thread[thread], at, s, i)
		ns += nsx_os_call_ns(t, i, s);
	return ns;
}

/* Adds time off the CPU as waits, unless the thread was ready. In traces with OS calls but without
 * states, a thread also counts as ready if OS calls cover less than half of that time.
 */
static int add_off_cpu(struct build *b, const struct reader *r,
		       struct span_list *waits, struct nsx_err *err)
{
	const struct nsx_trace *t = b->m->t;
	size_t at = 0;

	for (size_t i = 1; i < r->n; i++) {
		const struct thread_switch *off = &r->v[i - 1], *in = off + 1;
		struct nsx_span s = {off->at_ns, in->at_ns};
		bool ready = off->ready;

		if (off->thread != in->thread || off->in || !in->in)
			continue;
		if (!ready && s.end_ns - s.start_ns >= GAP_NS &&
		    span_list_add(waits, off->thread, s.start_ns, s.end_ns, err))
			return err->rc;
		if (!r->knows_states)
			ready = t->osrt.n &&
				2 * os_call_ns_in(t, off->thread, s, &at) < s.end_ns - s.start_ns;
		if (ready && span_list_add(&b->m->preempted, off->thread,
					   s.start_ns, s.end_ns, err))
			return err->rc;
		if (off->is_told || t->osrt.n)
			continue;
		b->m->is_unexplained |= !off->is_blocked;
		if (span_list_add(&b->m->absent, off->thread, s.start_ns, s.end_ns, err))
			return err->rc;
	}
	span_list_sort(&b->m->preempted);
	span_list_sort(&b->m->absent);
	return 0;
}

static int host_read_rows(struct build *b, const struct threads *x,
			  struct span_list *waits, struct nsx_err *err)
{
	static const enum nsx_field switches[] = {
		NSX_FIELDS(sched, start_ns, is_sched_in, global_tid, thread_state, thread_block)};
	static const enum nsx_field overheads[] = {
		NSX_FIELDS(profiler_overhead, start_ns, end_ns, global_tid)};
	struct nsx_model *m = b->m;
	struct reader r = {.t = m->t, .x = x,
			   .from_ns = m->call[0].start_ns,
			   .to_ns = m->call[m->ncalls - 1].end_ns};
	int rc = nsx_view_scan(m->t->schema, NSX_VIEW_sched, switches,
			       ARRAY_LEN(switches), 1, read_switch_row, &r, 0, err);

	if (!rc && r.n) {
		nsx_sort(r.v, r.n, sizeof(*r.v), cmp_switches);
		rc = add_off_cpu(b, &r, waits, err);
	}
	if (!rc)
		rc = nsx_view_scan(m->t->schema, NSX_VIEW_profiler_overhead,
				   overheads, ARRAY_LEN(overheads), 1, read_overhead_row, &r, 0,
				   err);
	for (size_t i = 0; !rc && i < m->t->overheads.n; i++)
		if (nsx_overhead_is_tool(m->t->overheads.type[i]))
			rc = span_list_add(&r.spans, m->t->overheads.thread[i],
					   m->t->overheads.start_ns[i],
					   m->t->overheads.end_ns[i], err);
	free(r.v);
	m->profiled = r.spans;
	span_list_sort(&m->profiled);
	return rc;
}

/* Computes how long each gap waits; after a hand-over, only time in which both threads wait
 * counts. Waits for other ranks or child processes do not count, because the program itself ends
 * them.
 */
static int compute_gap_waits(struct nsx_model *m, const struct build *b,
			     struct span_list *inside, struct nsx_err *err)
{
	const struct span_list *w = &m->waits;
	size_t cap = 0;

	for (uint32_t i = 0; i < m->ncalls; i++) {
		struct model_call *c = &m->call[i];
		int64_t gap = model_gap(m, i), ns = 0;
		struct nsx_span around = {c->start_ns - gap, c->start_ns}, in;
		uint32_t h = b->thread[i], from;

		if (gap < GAP_NS)
			continue;
		from = b->thread[c->before];
		for (size_t at = span_list_find(w, h, around.start_ns);
		     span_list_next(w, h, around, &at, &in);) {
			int64_t wait_ns = span_list_within(w, from, in);

			ns += wait_ns;
			if (wait_ns - span_list_within(inside, h, in) >= OUTSIDE_NS)
				c->flags |= CALL_OUTSIDE;
		}
		if (!ns)
			continue;
		c->flags |= CALL_PAUSE;
		if (nsx_push(m->pause, m->npauses, cap, "waits", err, (struct model_pause){ns, i}))
			return err->rc;
	}
	return 0;
}

int model_host(struct build *b, struct nsx_err *err)
{
	struct kinds of = {0};
	struct threads x = {0};
	int rc = list_threads(b, &x, err) ?:
		 host_add_waits(b, &x, &b->m->waits, &of, err) ?:
		 host_read_rows(b, &x, &b->m->waits, err);

	span_list_sort(&b->m->waits);
	span_list_sort(&of.inside);
	span_list_sort(&of.locks);
	rc = rc ?: link_hand_overs(b, &x, &of.locks, err) ?: compute_gap_waits(b->m, b,
									       &of.inside, err);

	span_list_done(&of.inside);
	span_list_done(&of.locks);
	return rc;
}

struct losses {
	const struct nsx_model *m;
	const struct span_list *list;
	nsx_lost_fn each;
	void *ctx;
};

/* Reports the parts of a thread's span that the list covers, inside the replayed window. */
static int report_lost_spans(const struct losses *x, uint32_t thread, struct nsx_span in,
			     struct nsx_err *err)
{
	const struct nsx_window *w = &x->m->closure.window;
	struct nsx_span lost;
	int rc = 0;

	in.start_ns = NSX_MAX(in.start_ns, w->start_ns);
	in.end_ns = NSX_MIN(in.end_ns, w->end_ns);
	if (in.end_ns <= in.start_ns)
		return 0;
	for (size_t at = span_list_find(x->list, thread, in.start_ns);
	     !rc && span_list_next(x->list, thread, in, &at, &lost);)
		rc = x->each(x->ctx, thread, lost, err);
	return rc;
}

static int each_lost_span(const struct losses *x, struct nsx_err *err)
{
	const struct nsx_model *m = x->m;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < m->ncalls; i++) {
		const struct model_call *c = &m->call[i];
		struct nsx_span inside = model_lost_in(c);
		struct nsx_span before = {c->start_ns - NSX_MAX(0, model_gap(m, i)),
					  inside.start_ns > c->start_ns ?
						  c->start_ns : inside.end_ns};
		uint32_t h = nsx_call_thread(m->t, c->row);

		if (!(c->flags & CALL_ACTIVE))
			continue;
		rc = report_lost_spans(x, h, before, err);
		if (!rc && inside.start_ns > c->start_ns)
			rc = report_lost_spans(x, h, inside, err);
	}
	return rc;
}

int nsx_model_each_preempted(const struct nsx_model *m, nsx_lost_fn each, void *ctx,
			     struct nsx_err *err)
{
	return each_lost_span(&(struct losses){m, &m->preempted, each, ctx}, err);
}

int nsx_model_each_absent(const struct nsx_model *m, nsx_lost_fn each, void *ctx,
			  struct nsx_err *err)
{
	return each_lost_span(&(struct losses){m, &m->absent, each, ctx}, err);
}

bool nsx_model_is_blocked(const struct nsx_model *m)
{
	return !m->is_unexplained;
}
