/* closure.c - measures how reliable the model is on this trace.
 *
 * There are two measures. Drift is the error of the window's length in a replay with typical
 * instead of recorded latencies. The other is the share of the chain of causes, back from the
 * window's last operation, that has no explanation.
 */
#include <math.h>
#include "facts/replay/pass.h"

enum { MAX_LOST_GRAPHS = 5 }; /* at most this percentage of graph launches may be lost */

/* The chain -------------------------------------------------------------------*/

struct place { /* a point on the chain of causes: an operation's end, or a call's end or start */
	enum { AT_OP, AT_CALL_END, AT_CALL_START, AT_NOTHING } at;
	uint32_t i;
	int64_t ns;
};
struct walk {
	const struct nsx_model *m;
	int64_t from_ns;
	int64_t *ns; /* one for each class */
};

static void add_class_time(struct walk *w, enum nsx_path_class class, int64_t from, int64_t to)
{
	from = NSX_MAX(from, w->from_ns);
	if (from < to)
		w->ns[class] += to - from;
}

/* Walks from an operation's end to its start or, in a collective, to the start of the last
 * member.
 */
static void walk_over_op(struct walk *w, struct place *p)
{
	const struct nsx_model *m = w->m;
	const struct model_op *o = &m->op[p->i];
	enum nsx_path_class class = o->flags & OP_COMM ? NSX_PATH_COMM :
				    o->kind == NSX_OP_KERNEL ||
						    o->kind == NSX_OP_GRAPH ?
					    NSX_PATH_COMPUTE : NSX_PATH_COPY;

	if (o->flags & OP_MEMBER) {
		const struct model_team *t = &m->team[o->team];

		for (uint32_t k = t->at; k < t->at + t->n; k++)
			if (m->op[m->member[k]].start_ns == t->last_ns && t->last_ns > o->start_ns)
				p->i = m->member[k];
		o = &m->op[p->i];
	}
	add_class_time(w, class, o->start_ns, p->ns);
	p->ns = NSX_MIN(p->ns, o->start_ns);
}

/* Walks from an operation's start back to the end of the predecessor that ended last. */
static void walk_before_op(struct walk *w, struct place *p)
{
	const struct nsx_model *m = w->m;
	const struct model_op *o = &m->op[p->i];
	enum nsx_path_class class = NSX_PATH_UNEXPLAINED;
	struct place to = {AT_NOTHING, 0, w->from_ns};
	int64_t latest = NEVER, end;

	if (o->flags & OP_NODE) {
		end = model_op_end(&m->op[o->group]);
		*p = (struct place){AT_OP, o->group, NSX_MIN(end, p->ns)};
		add_class_time(w, NSX_PATH_DISPATCH, p->ns, o->start_ns);
		return;
	}
	add_class_time(w, model_host_func(m, p->i) == NSX_NONE ? NSX_PATH_UNEXPLAINED :
							 NSX_PATH_HOST,
		       p->ns - o->residual_ns, p->ns);
	p->ns -= o->residual_ns;
	if (o->call != NSX_NONE) {
		const struct model_call *c = &m->call[o->call];
		bool blocks = c->kind == CALL_BLOCK;

		to = (struct place){blocks ? AT_CALL_START : AT_CALL_END,
				    o->call, blocks ? c->start_ns : c->end_ns};
		latest = to.ns + o->launch_ns;
		class = NSX_PATH_LAUNCH;
	}
	if (o->before != NSX_NONE && model_op_end(&m->op[o->before]) + o->dispatch_ns > latest) {
		to = (struct place){AT_OP, o->before,
				    model_op_end(&m->op[o->before])};
		latest = to.ns + o->dispatch_ns;
		class = NSX_PATH_DISPATCH;
	}
	for (uint32_t d = o->dep; d < o[1].dep; d++) {
		const struct model_dep *x = &m->dep[d];

		end = model_op_end(&m->op[x->op]);
		if (end + x->weight_ns <= latest)
			continue;
		to = (struct place){AT_OP, x->op, end};
		latest = end + x->weight_ns;
		class = NSX_PATH_DISPATCH;
	}
	add_class_time(w, class, to.ns, p->ns);
	to.ns = NSX_MIN(to.ns, p->ns);
	*p = to;
}

/* Walks from an MPI call's end back to the start of the call for which it waited, or to its own
 * start.
 */
static void walk_over_mpi(struct walk *w, struct place *p)
{
	const struct nsx_model *m = w->m;
	const struct model_call *c = &m->call[p->i];
	struct place to = {AT_CALL_START, p->i, c->start_ns};

	for (uint32_t k = c->wait; k < c[1].wait; k++) {
		const struct model_meet *x = &m->meet[m->wait[k]];

		if (x->last_ns > to.ns)
			to = (struct place){x->last == NSX_NONE ? AT_NOTHING :
								  AT_CALL_START,
					    x->last, x->last_ns};
	}
	to.ns = NSX_MIN(to.ns, p->ns);
	add_class_time(w, NSX_PATH_OUTSIDE, to.ns, p->ns);
	*p = to;
}

static void walk_over_call(struct walk *w, struct place *p)
{
	const struct nsx_model *m = w->m;
	const struct model_call *c = &m->call[p->i];
	uint32_t last = NSX_NONE;
	int64_t end = NEVER;

	if (c->kind == CALL_MPI) {
		walk_over_mpi(w, p);
		return;
	}
	add_class_time(w, NSX_PATH_UNEXPLAINED, p->ns - c->residual_ns, p->ns);
	p->ns -= c->residual_ns;
	for (uint32_t k = c->wait; k < c[1].wait; k++)
		if (model_op_end(&m->op[m->wait[k]]) > end) {
			last = m->wait[k];
			end = model_op_end(&m->op[last]);
		}
	if (last != NSX_NONE && end + c->lambda_ns >= c->start_ns + c->own_ns) {
		add_class_time(w, NSX_PATH_WAKE, end, p->ns);
		*p = (struct place){AT_OP, last, NSX_MIN(end, p->ns)};
	} else if (c->room != NSX_NONE &&
		   m->op[c->room].start_ns + c->lambda_ns > c->start_ns + c->own_ns) {
		end = m->op[c->room].start_ns;
		add_class_time(w, NSX_PATH_QUEUE, end, p->ns);
		p->ns = NSX_MIN(end, p->ns);
		p->i = c->room;
		walk_before_op(w, p);
	} else {
		add_class_time(w, NSX_PATH_CALL, c->start_ns, p->ns);
		*p = (struct place){AT_CALL_START, p->i,
				    NSX_MIN(c->start_ns, p->ns)};
	}
}

static void walk_before_call(struct walk *w, struct place *p)
{
	const struct nsx_model *m = w->m;
	const struct model_call *c = &m->call[p->i];
	int64_t end, waited;

	if (c->before == NSX_NONE) {
		add_class_time(w, NSX_PATH_UNEXPLAINED, w->from_ns, p->ns);
		p->at = AT_NOTHING;
		return;
	}
	end = NSX_MIN(m->call[c->before].end_ns, p->ns);
	waited = NSX_MIN(model_pause_ns(m, p->i), p->ns - end);
	add_class_time(w, NSX_PATH_OUTSIDE, p->ns - waited, p->ns);
	add_class_time(w, NSX_PATH_HOST, end, p->ns - waited);
	*p = (struct place){AT_CALL_END, c->before, end};
}

void nsx_model_path(const struct nsx_model *m, struct nsx_window window, int64_t ns[NSX_NPATHS])
{
	struct walk w = {m, window.start_ns, ns};
	struct place p = {AT_NOTHING, 0, NEVER};

	for (unsigned c = 0; c < NSX_NPATHS; c++)
		ns[c] = 0;
	for (uint32_t i = 0; i < m->nops; i++) {
		int64_t end = model_op_end(&m->op[i]);

		if (m->op[i].start_ns >= window.start_ns && end <= window.end_ns && end > p.ns)
			p = (struct place){AT_OP, i, end};
	}
	/* The number of steps is limited to that of events, because collectives that are cut at the
	 * edge of a capture could form a cycle.
	 */
	for (size_t n = m->nops + 2 * (size_t)m->ncalls;
	     n && p.at != AT_NOTHING && p.ns > w.from_ns; n--) {
		if (p.at == AT_OP) {
			walk_over_op(&w, &p);
			if (p.ns > w.from_ns)
				walk_before_op(&w, &p);
		} else if (p.at == AT_CALL_END) {
			walk_over_call(&w, &p);
		} else {
			walk_before_call(&w, &p);
		}
	}
}

/* The figures -----------------------------------------------------------------------*/

static enum nsx_confidence confidence_of_model(double drift, double unexplained)
{
	static const struct {
		double drift, unexplained;
	} bounds[] = {{0.05, 0.25}, {0.03, 0.10}, {0.01, 0.02}};
	enum nsx_confidence cls = NSX_CONF_HIGH;

	while (cls > NSX_CONF_NONE && !(drift <= bounds[cls].drift &&
					unexplained <= bounds[cls].unexplained))
		cls--;
	return cls;
}

/* Whether the work of too many graph launches was not recorded. With a user's window that cannot be
 * counted, because the work of a launch may lie outside.
 */
static bool lost_many_graphs(const struct nsx_model *m)
{
	size_t n = 0, lost = 0;

	if (nsx_has_window(m->t))
		return m->f->graphs.mode == NSX_GRAPH_OPAQUE;
	for (uint32_t i = 0; i < m->ncalls; i++) {
		const struct model_call *c = &m->call[i];

		if (!(c->flags & CALL_ACTIVE) || !(m->api[c->api].says & API_GRAPH))
			continue;
		n++;
		lost += c->op == NSX_NONE;
	}
	return 100 * lost > MAX_LOST_GRAPHS * n;
}

int model_close(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	struct nsx_closure *c = &m->closure;
	struct typical typical = {b->typical_launch, b->typical_dispatch, b->typical_lambda};
	int64_t path[NSX_NPATHS], total = 0, ns;
	struct player *p;
	int rc;

	if (c->recorded_ns <= 0) {
		c->reason = c->is_part ?
			"no GPU work ends in the part that is replayed, which "
			"--replay-ops makes larger" :
			"no GPU work ends in the judged window";
		return 0;
	}
	if (lost_many_graphs(m)) {
		c->reason = "graphs were launched whose work is not recorded";
		return 0;
	}
	if (player_new(m, &p, err))
		return err->rc;
	rc = play(p, 0, &typical, &ns, err);
	player_free(p);
	if (rc)
		return rc;
	/* The pause before the window is left out, because nothing in the window waited for it. */
	nsx_model_path(m, (struct nsx_window){NSX_MAX(m->from_ns == NEVER ?
						      m->op[0].start_ns :
						      m->from_ns,
						      c->window.start_ns),
					      c->window.end_ns}, path);
	for (unsigned k = 0; k < NSX_NPATHS; k++)
		total += path[k];
	c->drift = fabs((double)ns / (double)c->recorded_ns - 1);
	c->unexplained = total ? (double)path[NSX_PATH_UNEXPLAINED] / (double)total : 0;
	c->cls = confidence_of_model(c->drift, c->unexplained);
	if (c->cls == NSX_CONF_NONE)
		c->reason = c->unexplained > 0.25 ?
			"too much of what the GPU waited for is not recorded" :
			"a replay with typical latencies misses the recorded times";
	return 0;
}
