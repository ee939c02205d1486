/* teams.c - collectives: the communication kernels of several GPUs that are one
 * operation.
 *
 * Kernels of one name that all overlap and end together.  Each GPU runs its own
 * in order, so the lists are matched from their heads: the head that ends first
 * finds its partners among the other heads, or has none.  Sends and receives are
 * between some of the ranks: partners are those that end with the nearest.
 */
#include <stdlib.h>
#include <string.h>
#include "base/stat.h"
#include "facts/replay/model.h"

enum { MAX_RANKS = 256 };
enum { AGAIN = 4 }; /* waits come again if they differ by less than a part of so many */
/* Ends of one collective are this close, or a fifth of the shorter one. */
#define TOGETHER_NS INT64_C(100000)
#define SAME_NS 5000 /* ... ends of one transfer between two are        */

struct rank { /* communication kernels of a device in a process */
	uint32_t *op;
	uint32_t n, head;
};
struct ranks {
	struct rank v[MAX_RANKS];
	size_t n;
};

static int list_ranks(struct build *b, struct ranks *r, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	const struct nsx_trace *t = m->t;
	struct nsx_groups groups = {0};
	uint32_t *of, *op, *at; /* by op: its rank; ops by rank */
	int rc = nsx_new_arrays(b->step, m->nops, "collectives", err, of, op);

	for (uint32_t i = 0; !rc && i < m->nops; i++) {
		const struct nsx_stream *s =
			&t->stream[b->stream_row[m->op[i].stream]];

		of[i] = NSX_NONE;
		if ((m->op[i].flags & (OP_COMM | OP_NODE)) == OP_COMM)
			rc = nsx_group(&groups, s->process, s->device, &of[i],
				       err);
	}
	r->n = groups.n <= MAX_RANKS ? groups.n : 0;
	nsx_groups_done(&groups);
	rc = rc ?: nsx_new_arrays(b->step, r->n + 2, "collectives", err, at);
	if (rc || !r->n)
		return rc;
	NSX_DEAL(at, op, r->n, m->nops, i, of[i]);
	for (size_t k = 0; k < r->n; k++)
		r->v[k] = (struct rank){op + at[k], at[k + 1] - at[k], 0};
	return 0;
}

static nsx_str base_name(const struct nsx_model *m, const struct model_op *o)
{
	return nsx_op_shape(m->t, o->row)->base_name;
}

static int64_t apart_ns(const struct model_op *x, const struct model_op *y)
{
	return llabs(model_op_end(x) - model_op_end(y));
}

static bool is_partner(const struct nsx_model *m, const struct model_op *x,
		       const struct model_op *y)
{
	return y->start_ns < model_op_end(x) && x->start_ns < model_op_end(y) &&
	       base_name(m, x) == base_name(m, y) &&
	       apart_ns(x, y) <= NSX_MAX(TOGETHER_NS, NSX_MIN(x->length_ns,
							      y->length_ns) / 5);
}

/* How far from the end of the first head its partners end at most. */
static int64_t reach(const struct nsx_model *m, const struct ranks *r,
		     const struct rank *first)
{
	const struct model_op *x = &m->op[first->op[first->head]];
	int64_t least = INT64_MAX - SAME_NS;

	if (nsx_op_shape(m->t, x->row)->op != NSX_COMM_SENDRECV)
		return INT64_MAX;
	for (size_t k = 0; k < r->n; k++) {
		const struct rank *other = &r->v[k];

		if (other != first && other->head < other->n &&
		    is_partner(m, x, &m->op[other->op[other->head]]))
			least = NSX_MIN(least, apart_ns(
				x, &m->op[other->op[other->head]]));
	}
	return least + SAME_NS;
}

/* The head that ends first; NULL: fewer than two lists are left. */
static struct rank *first_head(const struct nsx_model *m, struct ranks *r)
{
	struct rank *best = NULL;
	unsigned left = 0;

	for (size_t k = 0; k < r->n; k++) {
		struct rank *x = &r->v[k];

		if (x->head == x->n)
			continue;
		left++;
		if (!best || model_op_end(&m->op[x->op[x->head]]) <
				     model_op_end(&m->op[best->op[best->head]]))
			best = x;
	}
	return left < 2 ? NULL : best;
}

static void add_team(struct nsx_model *m, struct ranks *r, struct rank *first)
{
	uint32_t op = first->op[first->head], nmembers = m->nmembers;
	struct model_team team = {nmembers, 0, m->op[op].start_ns};
	int64_t reach_ns = reach(m, r, first);

	for (size_t k = 0; k < r->n; k++) {
		struct rank *x = &r->v[k];
		struct model_op *o;

		if (x->head == x->n)
			continue;
		o = &m->op[x->op[x->head]];
		if (x != first && (!is_partner(m, &m->op[op], o) ||
				   apart_ns(&m->op[op], o) > reach_ns))
			continue;
		m->member[nmembers + team.n++] = x->op[x->head];
		team.last_ns = NSX_MAX(team.last_ns, o->start_ns);
	}
	first->head++;
	if (team.n < 2)
		return;
	for (uint32_t k = 0; k < team.n; k++) {
		struct model_op *o = &m->op[m->member[nmembers + k]];

		o->flags |= OP_MEMBER;
		o->group = m->nteams;
		for (size_t i = 0; i < r->n; i++)
			if (&r->v[i] != first && r->v[i].head < r->v[i].n &&
			    r->v[i].op[r->v[i].head] ==
				    m->member[nmembers + k])
				r->v[i].head++;
	}
	m->nmembers += team.n;
	m->team[m->nteams++] = team;
}

int model_teams(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	struct ranks *r = nsx_arena_get(b->step, sizeof(*r));
	struct rank *first;
	size_t most = 0;

	if (list_ranks(b, r, err))
		return err->rc;
	if (r->n < 2)
		return 0;
	for (size_t k = 0; k < r->n; k++)
		most += r->v[k].n;
	if (nsx_new_arrays(m->arena, most + r->n, "collectives", err,
			   m->member) ||
	    nsx_new_arrays(m->arena, most / 2 + 1, "collectives", err, m->team))
		return err->rc;
	while ((first = first_head(m, r)))
		add_team(m, r, first);
	return nsx_stopped(err);
}

/* Of the transfers of a team that a device has part in: how long it waited; -1: none,
 * or outside of the window.
 */
static int64_t waited(const struct nsx_model *m, const struct model_team *team,
		      uint32_t device)
{
	for (uint32_t i = team->at; i < team->at + team->n; i++) {
		const struct model_op *o = &m->op[m->member[i]];

		if ((o->flags & OP_ACTIVE) &&
		    nsx_stream_of(m->t, o->row)->device == device)
			return team->last_ns - o->start_ns;
	}
	return -1;
}

int64_t nsx_model_waited(const struct nsx_model *m, uint32_t device)
{
	int64_t sum_ns = 0;

	for (uint32_t k = 0; k < m->nteams; k++)
		nsx_add_to(&sum_ns, NSX_MAX(0, waited(m, &m->team[k], device)));
	return sum_ns;
}

static bool is_sendrecv(const struct nsx_model *m, const struct model_team *team)
{
	uint32_t row = m->op[m->member[team->at]].row;

	return nsx_op_shape(m->t, row)->op == NSX_COMM_SENDRECV;
}

/* Of so many things in the window, how many there are in an iteration. */
static size_t each_iteration(const struct nsx_model *m, uint32_t device, size_t n)
{
	struct nsx_window w = m->closure.window;
	double sum_ns = 0;
	size_t count = 0;

	for (size_t i = 0; i < m->f->niterations; i++) {
		const struct nsx_iteration *x = &m->f->iterations[i];

		if (x->device != device || x->start_ns < w.start_ns ||
		    x->end_ns > w.end_ns)
			continue;
		sum_ns += (double)(x->end_ns - x->start_ns);
		count++;
	}
	return count ? (size_t)((double)n * sum_ns / (double)count /
					(double)(w.end_ns - w.start_ns) + 0.5) :
		       0;
}

int nsx_model_takes_turns(const struct nsx_model *m, uint32_t device,
			  struct nsx_arena *scratch, bool *ret,
			  struct nsx_err *err)
{
	size_t n = 0, period;
	int64_t *v, sum_ns = 0, other_ns = 0;

	*ret = false;
	if (!nsx_new_array(v, scratch, m->nteams, "transfers", err))
		return err->rc;
	for (uint32_t k = 0; k < m->nteams; k++) {
		v[n] = waited(m, &m->team[k], device);
		n += v[n] >= 0 && is_sendrecv(m, &m->team[k]);
	}
	period = each_iteration(m, device, n);
	for (size_t i = period; period && i < n; i++) {
		nsx_add_to(&sum_ns, v[i]);
		nsx_add_to(&other_ns, llabs(v[i] - v[i - period]));
	}
	*ret = other_ns < sum_ns / AGAIN;
	nsx_arena_drop(scratch, v);
	return 0;
}
