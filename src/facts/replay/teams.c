/* teams.c - collectives: the communication kernels of several GPUs that are one
 * operation.
 *
 * Kernels of one name that all overlap and end together.  A stream runs its own
 * in order, so streams are matched from their heads: the head that ends first
 * finds its partners among the other heads, one a GPU, or has none.  Sends and
 * receives are between some of the ranks: partners are those that end with the
 * nearest.
 */
#include <stdlib.h>
#include <string.h>
#include "base/stat.h"
#include "facts/replay/model.h"

enum { MAX_LISTS = 1024 };
enum { AGAIN = 4 }; /* waits come again if they differ by less than a part of so many */
/* Ends of one collective are this close, or a fifth of the shorter one. */
#define TOGETHER_NS INT64_C(100000)
#define SAME_NS 5000 /* ... ends of one transfer between two are        */

struct list { /* communication kernels of a stream */
	uint32_t *op;
	uint32_t n, head;
};
struct lists {
	struct list v[MAX_LISTS];
	size_t n;
};

static int list_streams(struct build *b, struct lists *r, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	struct nsx_groups groups = {0};
	uint32_t *of, *op, *at; /* by op: its list; ops by list */
	int rc = nsx_new_arrays(b->step, m->nops, "collectives", err, of, op);

	for (uint32_t i = 0; !rc && i < m->nops; i++) {
		of[i] = NSX_NONE;
		if ((m->op[i].flags & (OP_COMM | OP_NODE)) == OP_COMM)
			rc = nsx_group(&groups, m->op[i].stream, 0, &of[i], err);
	}
	r->n = groups.n <= MAX_LISTS ? groups.n : 0;
	nsx_groups_done(&groups);
	rc = rc ?: nsx_new_arrays(b->step, r->n + 2, "collectives", err, at);
	if (rc || !r->n)
		return rc;
	NSX_DEAL(at, op, r->n, m->nops, i, of[i]);
	for (size_t k = 0; k < r->n; k++)
		r->v[k] = (struct list){op + at[k], at[k + 1] - at[k], 0};
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

static struct model_op *head_of(const struct nsx_model *m, const struct list *x)
{
	return x->head < x->n ? &m->op[x->op[x->head]] : NULL;
}

/* How far from the end of the first head its partners end at most. */
static int64_t reach(const struct nsx_model *m, const struct lists *r,
		     const struct model_op *first)
{
	int64_t least = INT64_MAX - SAME_NS;

	if (nsx_op_launch(m->t, first->row)->op != NSX_COMM_SENDRECV)
		return INT64_MAX;
	for (size_t k = 0; k < r->n; k++) {
		const struct model_op *o = head_of(m, &r->v[k]);

		if (o && o->engine != first->engine && is_partner(m, first, o))
			least = NSX_MIN(least, apart_ns(first, o));
	}
	return least + SAME_NS;
}

/* The list whose head ends first; NULL: fewer than two are left. */
static struct list *first_head(const struct nsx_model *m, struct lists *r)
{
	struct list *best = NULL;
	unsigned left = 0;

	for (size_t k = 0; k < r->n; k++) {
		struct list *x = &r->v[k];

		if (x->head == x->n)
			continue;
		left++;
		if (!best || model_op_end(head_of(m, x)) <
				     model_op_end(head_of(m, best)))
			best = x;
	}
	return left < 2 ? NULL : best;
}

/* The place of a GPU's member among those found so far; their number: it has none. */
static uint32_t place_of(const struct nsx_model *m, struct list *const *found,
			 uint32_t n, const struct model_op *o)
{
	uint32_t i = 0;

	while (i < n && head_of(m, found[i])->engine != o->engine)
		i++;
	return i;
}

/* Of the heads of each GPU the one that ends nearest to the first. */
static uint32_t find_partners(const struct nsx_model *m, struct lists *r,
			      struct list *first, struct list **found)
{
	const struct model_op *x = head_of(m, first);
	int64_t reach_ns = reach(m, r, x);
	uint32_t n = 1;

	found[0] = first;
	for (size_t k = 0; k < r->n; k++) {
		const struct model_op *o = head_of(m, &r->v[k]);
		uint32_t i;

		if (!o || o->engine == x->engine || !is_partner(m, x, o) ||
		    apart_ns(x, o) > reach_ns)
			continue;
		i = place_of(m, found, n, o);
		if (i == n)
			found[n++] = &r->v[k];
		else if (apart_ns(x, o) < apart_ns(x, head_of(m, found[i])))
			found[i] = &r->v[k];
	}
	return n;
}

static void add_team(struct nsx_model *m, struct lists *r, struct list *first)
{
	struct list *found[MAX_LISTS];
	struct model_team team = {m->nmembers,
				  find_partners(m, r, first, found),
				  INT64_MIN};

	for (uint32_t k = 0; k < team.n; k++) {
		struct model_op *o = head_of(m, found[k]);

		m->member[team.at + k] = found[k]->op[found[k]->head++];
		team.last_ns = NSX_MAX(team.last_ns, o->start_ns);
		if (team.n < 2)
			return;
		o->flags |= OP_MEMBER;
		o->group = m->nteams;
	}
	m->nmembers += team.n;
	m->team[m->nteams++] = team;
}

int model_teams(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	struct lists *r = nsx_arena_get(b->step, sizeof(*r));
	struct list *first;
	size_t most = 0;

	if (list_streams(b, r, err))
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

	return nsx_op_launch(m->t, row)->op == NSX_COMM_SENDRECV;
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
			  struct nsx_arena *scratch, int64_t *ret_most_ns,
			  struct nsx_err *err)
{
	size_t n = 0, blocks = 0, period;
	int64_t *v, *sum_ns, *other_ns, *most_ns;

	*ret_most_ns = 0;
	if (nsx_new_arrays(scratch, m->nteams, "transfers", err, v, sum_ns,
			   other_ns, most_ns))
		return err->rc;
	for (uint32_t k = 0; k < m->nteams; k++) {
		v[n] = waited(m, &m->team[k], device);
		n += v[n] >= 0 && is_sendrecv(m, &m->team[k]);
	}
	period = each_iteration(m, device, n);
	/* By the median iteration: a transfer more or less makes one differ in all. */
	for (size_t i = period; period && i < n; i++) {
		size_t at = i / period - 1;

		nsx_add_to(&sum_ns[at], v[i]);
		nsx_add_to(&other_ns[at], llabs(v[i] - v[i - period]));
		most_ns[at] = NSX_MAX(most_ns[at], v[i]);
		blocks = at + 1;
	}
	/* After one in which a rank paused, those that follow are alike again. */
	for (size_t i = 0; i + 1 < blocks; i++)
		other_ns[i] = NSX_MIN(other_ns[i], other_ns[i + 1]);
	if (blocks && nsx_quantile(other_ns, blocks, 0.5) <
			      nsx_quantile(sum_ns, blocks, 0.5) / AGAIN)
		*ret_most_ns = (int64_t)nsx_quantile(most_ns, blocks, 0.5);
	nsx_arena_drop(scratch, v);
	return 0;
}
