/* teams.c - finds communication kernels of several ranks that form one collective.
 *
 * Most exports lack communicators. Kernels of one name on one stream form a queue. Queues of
 * several ranks belong to one communicator if hardly a kernel of one queue ends without a kernel of
 * the other: ranks that are independent do not end together for long. The remaining queues may
 * belong to several communicators.
 *
 * Within a communicator, the heads of all queues are compared. Partners of the head that ends first
 * are looked for among the other heads; it may have none. Sends and receives involve only some
 * ranks: their partners are the heads that end nearest.
 */
#include "base/group.h"
#include "facts/teams.h"

enum { MAX_QUEUES = 1024, STRAY = 20 }; /* one kernel may be alone, and one more in each STRAY */
/* All kernels of a collective end within TOGETHER_NS, or within a fifth of the shortest of them,
 * and half of them within MOSTLY_NS.
 */
#define TOGETHER_NS INT64_C(100000)
#define MOSTLY_NS INT64_C(20000)
#define SAME_NS 5000 /* the two ends of a transfer between ranks differ by less */

struct queue { /* the kernels of one name on one stream */
	uint32_t *op;
	uint32_t n, head, group; /* head: first kernel that is not matched; group: NSX_NONE: none */
	uint32_t process, device;
	nsx_str name;
};
struct group {
	struct queue *v[MAX_QUEUES];
	uint32_t n, nranks; /* nranks: ranks, without those that seldom take part */
	bool by_pairs;	    /* kernels of the group are transfers between some ranks only */
};
struct matching {
	const struct nsx_trace *t;
	struct nsx_arena *a; /* scratch                                      */
	struct queue *queue;
	uint32_t nqueues, ngroups;
	uint32_t *by_name; /* queues sorted by name                          */
	struct nsx_teams *r;
	uint32_t nmembers;
};

/* Queues -----------------------------------------------------------------------*/

static int list_queues(struct matching *x, struct nsx_err *err)
{
	const struct nsx_trace *t = x->t;
	NSX_AT_EXIT(nsx_groups_done) struct nsx_groups keys = {0};
	uint32_t *row, *of, *op, *at, most = 0, n = 0;

	for (size_t i = 0; i < t->ops.n; i++)
		most += t->ops.cls[i] == NSX_C_COMM;
	if (nsx_new_arrays(x->a, most, "collectives", err, row, of, op))
		return err->rc;
	for (uint32_t i = 0; i < t->ops.n; i++) {
		if (t->ops.cls[i] != NSX_C_COMM)
			continue;
		row[n] = i;
		if (nsx_group(&keys, nsx_op_stream(&t->ops, i), nsx_op_shape(t, i)->base_name,
			      &of[n++], err))
			return err->rc;
	}
	x->nqueues = (uint32_t)keys.n;
	if (nsx_new_arrays(x->a, x->nqueues + 2, "collectives", err, at) ||
	    nsx_new_arrays(x->a, x->nqueues, "collectives", err, x->queue, x->by_name))
		return err->rc;
	NSX_DEAL(at, op, x->nqueues, n, i, of[i]);
	for (uint32_t i = 0; i < n; i++)
		op[i] = row[op[i]];
	for (uint32_t k = 0; k < x->nqueues; k++) {
		uint32_t first = op[at[k]];

		x->queue[k] = (struct queue){
			op + at[k], at[k + 1] - at[k], 0, NSX_NONE,
			nsx_op_process(t, first), nsx_stream_of(t, first)->device,
			nsx_op_shape(t, first)->base_name};
	}
	return 0;
}

NSX_ORDER_IN(teams_cmp_names, uint32_t, struct queue, UP(c[*x].name), UP(*x));

static bool same_rank(const struct queue *a, const struct queue *b)
{
	return a->process == b->process && a->device == b->device;
}

/* Pairs of kernels ---------------------------------------------------------------*/

static int64_t teams_start_of(const struct matching *x, uint32_t op)
{
	return nsx_op_start(&x->t->ops, op);
}

static int64_t teams_end_of(const struct matching *x, uint32_t op)
{
	return nsx_op_end(&x->t->ops, op);
}

static int64_t distance_of_ends(const struct matching *x, uint32_t a, uint32_t b)
{
	return llabs(teams_end_of(x, a) - teams_end_of(x, b));
}

static bool teams_overlap(const struct matching *x, uint32_t a, uint32_t b)
{
	return teams_start_of(x, a) < teams_end_of(x, b) &&
	       teams_start_of(x, b) < teams_end_of(x, a);
}

static bool teams_end_together(const struct matching *x, uint32_t a, uint32_t b, int64_t at_most_ns)
{
	int64_t least_ns = NSX_MIN(nsx_op_ns(&x->t->ops, a), nsx_op_ns(&x->t->ops, b));

	return teams_overlap(x, a, b) && distance_of_ends(x, a, b) <= NSX_MAX(at_most_ns,
									      least_ns / 5);
}

/* Communicators --------------------------------------------------------------------*/

/* Whether two queues belong to one communicator: most of their kernels end together, and hardly one
 * between the first and the last of these is alone.
 */
static bool share_communicator(const struct matching *x, const struct queue *p,
			       const struct queue *q)
{
	uint32_t i = 0, k = 0, n = 0, alone = 0, since = 0, close = 0;

	while (i < p->n && k < q->n) {
		uint32_t a = p->op[i], b = q->op[k];

		if (teams_end_together(x, a, b, TOGETHER_NS)) {
			close += teams_end_together(x, a, b, MOSTLY_NS);
			alone += n ? since : 0;
			since = 0;
			n++;
			i++;
			k++;
			continue;
		}
		since++;
		if (teams_end_of(x, a) <= teams_end_of(x, b))
			i++;
		else
			k++;
	}
	return n * 2 >= NSX_MAX(p->n, q->n) && alone <= 1 + n / STRAY && close * 2 >= n;
}

/* The group to which a queue belongs; NSX_NONE: none. others: earlier queues of the same name. */
static uint32_t teams_find_group(const struct matching *x, const struct queue *q,
				 const uint32_t *others, uint32_t nothers)
{
	for (uint32_t k = 0; k < nothers; k++) {
		const struct queue *first = &x->queue[others[k]];
		bool is_free = true, is_first = true;

		for (uint32_t i = 0; i < nothers; i++) {
			const struct queue *y = &x->queue[others[i]];

			is_first &= i >= k || y->group != first->group;
			is_free &= y->group != first->group || !same_rank(y, q);
		}
		if (is_first && is_free && share_communicator(x, first, q))
			return first->group;
	}
	return NSX_NONE;
}

/* Divides the queues of one name into groups. */
static void group_queues_of_name(struct matching *x, const uint32_t *v, uint32_t n)
{
	uint32_t from = x->ngroups;

	for (uint32_t k = 0; k < n; k++) {
		uint32_t group = teams_find_group(x, &x->queue[v[k]], v, k);

		x->queue[v[k]].group = group == NSX_NONE ? x->ngroups++ : group;
	}
	for (uint32_t g = from; g < x->ngroups; g++) {
		uint32_t count = 0, last = 0;

		for (uint32_t k = 0; k < n; k++)
			if (x->queue[v[k]].group == g) {
				count++;
				last = v[k];
			}
		if (count == 1)
			x->queue[last].group = NSX_NONE;
	}
}

/* Instances ------------------------------------------------------------------------*/

static uint32_t queue_head(const struct queue *q)
{
	return q->head < q->n ? q->op[q->head] : NSX_NONE;
}

static bool is_partner_kernel(const struct matching *x, const struct group *g, uint32_t a,
			      uint32_t b)
{
	return g->by_pairs && g->nranks == 2 ? teams_overlap(x, a, b) :
					       teams_end_together(x, a, b, TOGETHER_NS);
}

/* The largest distance between the end of the first head and its partners' ends. */
static int64_t farthest_partner_ns(const struct matching *x, const struct group *g,
				   const struct queue *first)
{
	int64_t least = INT64_MAX - SAME_NS;
	uint32_t a = queue_head(first);

	if (!g->by_pairs)
		return INT64_MAX;
	for (uint32_t k = 0; k < g->n; k++) {
		uint32_t b = queue_head(g->v[k]);

		if (b != NSX_NONE && !same_rank(first, g->v[k]) && is_partner_kernel(x, g, a, b))
			least = NSX_MIN(least, distance_of_ends(x, a, b));
	}
	return least + SAME_NS;
}

/* The queue whose head ends first; NULL: fewer than two are left. */
static struct queue *queue_that_ends_first(const struct matching *x, const struct group *g)
{
	struct queue *best = NULL;
	unsigned left = 0;

	for (uint32_t k = 0; k < g->n; k++) {
		uint32_t op = queue_head(g->v[k]);

		if (op == NSX_NONE)
			continue;
		left++;
		if (!best || teams_end_of(x, op) < teams_end_of(x, queue_head(best)))
			best = g->v[k];
	}
	return left < 2 ? NULL : best;
}

/* The index of a rank's queue in `found`; n if the rank has none there. */
static uint32_t teams_place_of(struct queue *const *found, uint32_t n, const struct queue *q)
{
	uint32_t i = 0;

	while (i < n && !same_rank(found[i], q))
		i++;
	return i;
}

/* Finds, for each rank, the head that ends nearest to the head of `first`. Returns their number. */
static uint32_t find_partners(const struct matching *x, const struct group *g,
			      struct queue *first, struct queue **found)
{
	uint32_t a = queue_head(first), n = 1;
	int64_t reach_ns = farthest_partner_ns(x, g, first);

	found[0] = first;
	for (uint32_t k = 0; k < g->n; k++) {
		uint32_t b = queue_head(g->v[k]), i;

		if (b == NSX_NONE || same_rank(first, g->v[k]) ||
		    !is_partner_kernel(x, g, a, b) || distance_of_ends(x, a, b) > reach_ns)
			continue;
		i = teams_place_of(found, n, g->v[k]);
		if (i == n)
			found[n++] = g->v[k];
		else if (distance_of_ends(x, a, b) < distance_of_ends(x, a, queue_head(found[i])))
			found[i] = g->v[k];
	}
	return n;
}

static void facts_teams_add_team(struct matching *x, const struct group *g, struct queue *first)
{
	struct queue *found[MAX_QUEUES];
	struct nsx_team team = {INT64_MIN, x->nmembers, find_partners(x, g, first, found), false};

	for (uint32_t k = 0; k < team.n; k++) {
		uint32_t op = found[k]->op[found[k]->head++];

		x->r->member[team.at + k] = op;
		team.last_ns = NSX_MAX(team.last_ns, teams_start_of(x, op));
	}
	if (team.n < 2)
		return;
	team.is_whole = team.n >= g->nranks && (!g->by_pairs || g->nranks == 2);
	x->nmembers += team.n;
	x->r->v[x->r->n++] = team;
}

/* Counts the ranks of a group, except those with less than half as many kernels as the busiest
 * rank: these do not belong to it.
 */
static uint32_t teams_count_ranks(const struct group *g)
{
	uint32_t most = 0, n = 0;
	uint32_t ops[MAX_QUEUES] = {0};
	struct queue *rank[MAX_QUEUES];
	uint32_t nranks = 0;

	for (uint32_t k = 0; k < g->n; k++) {
		uint32_t i = teams_place_of(rank, nranks, g->v[k]);

		if (i == nranks)
			rank[nranks++] = g->v[k];
		ops[i] += g->v[k]->n;
		most = NSX_MAX(most, ops[i]);
	}
	for (uint32_t i = 0; i < nranks; i++)
		n += ops[i] * UINT64_C(2) >= most;
	return n;
}

/* Matches the queues of a name in one group; group NSX_NONE: the queues without a group. */
static void teams_match_group(struct matching *x, const uint32_t *v, uint32_t n, uint32_t group)
{
	struct group g = {0};
	struct queue *first;

	for (uint32_t k = 0; k < n && g.n < MAX_QUEUES; k++)
		if (x->queue[v[k]].group == group)
			g.v[g.n++] = &x->queue[v[k]];
	if (g.n < 2)
		return;
	g.nranks = teams_count_ranks(&g);
	g.by_pairs = nsx_op_launch(x->t, g.v[0]->op[0])->op == NSX_COMM_SENDRECV;
	while ((first = queue_that_ends_first(x, &g)))
		facts_teams_add_team(x, &g, first);
}

static void match_queues_of_name(struct matching *x, const uint32_t *v, uint32_t n)
{
	uint32_t from = x->ngroups;

	if (nsx_op_launch(x->t, x->queue[v[0]].op[0])->op != NSX_COMM_SENDRECV)
		group_queues_of_name(x, v, n);
	for (uint32_t g = from; g < x->ngroups; g++)
		teams_match_group(x, v, n, g);
	teams_match_group(x, v, n, NSX_NONE);
}

NSX_ORDER(cmp_team, struct nsx_team, UP(last_ns), UP(at));

static int teams_match_all(struct matching *x, struct nsx_arena *a, struct nsx_err *err)
{
	const struct queue *q = x->queue;
	size_t most = 1;

	for (uint32_t k = 0; k < x->nqueues; k++)
		most += q[k].n;
	if (nsx_new_arrays(a, most + x->nqueues, "collectives", err,
			   x->r->member) ||
	    nsx_new_arrays(a, most / 2 + 1, "collectives", err, x->r->v))
		return err->rc;
	nsx_sort_indices(x->by_name, x->nqueues, teams_cmp_names, x->queue);
	NSX_EACH_RUN(i, next, x->nqueues, q[x->by_name[next]].name == q[x->by_name[i]].name)
		if (next - i > 1)
			match_queues_of_name(x, x->by_name + i, (uint32_t)(next - i));
	nsx_sort(x->r->v, x->r->n, sizeof(*x->r->v), cmp_team);
	return nsx_stopped(err);
}

int nsx_facts_teams(struct nsx_facts *f, const struct nsx_trace *t,
		    const struct nsx_facts_opts *o NSX_UNUSED, struct nsx_arena *a,
		    struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *scratch = nsx_arena_new();
	struct nsx_teams *r = nsx_arena_get(a, sizeof(*r));
	struct matching x = {.t = t, .r = r, .a = scratch};

	f->teams = r;
	return list_queues(&x, err) ?: teams_match_all(&x, a, err);
}
