/* teams.c - takes the collectives of the replayed part into the model. */
#include "base/stat.h"
#include "facts/replay/model.h"
#include "facts/teams.h"

enum { AGAIN = 4 }; /* waits recur if they differ by less than 1 / AGAIN of their sum */

/* The model's operation for a row of the trace; or NSX_NONE. O(log n). */
static uint32_t find_op(const struct nsx_model *m, uint32_t row)
{
	int64_t start_ns = nsx_op_start(&m->t->ops, row);
	uint32_t i = NSX_SEARCH((uint32_t)0, m->nops, mid, m->op[mid].start_ns < start_ns);

	while (i < m->nops && m->op[i].start_ns == start_ns && m->op[i].row != row)
		i++;
	return i < m->nops && m->op[i].row == row ? i : NSX_NONE;
}

/* Adds a collective, with those of its members that are in the model. */
static void teams_add_team(struct nsx_model *m, const struct nsx_team *from)
{
	const uint32_t *row = m->f->teams->member + from->at;
	struct model_team team = {m->nmembers, 0, INT64_MIN};

	for (uint32_t k = 0; k < from->n; k++) {
		uint32_t i = find_op(m, row[k]);

		if (i == NSX_NONE)
			continue;
		m->member[team.at + team.n++] = i;
		team.last_ns = NSX_MAX(team.last_ns, m->op[i].start_ns);
	}
	if (team.n < 2)
		return;
	for (uint32_t k = 0; k < team.n; k++) {
		struct model_op *o = &m->op[m->member[team.at + k]];

		o->flags |= OP_MEMBER;
		o->team = m->nteams;
	}
	m->nmembers += team.n;
	m->team[m->nteams++] = team;
}

int model_teams(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	const struct nsx_teams *all = m->f->teams;
	uint32_t from = NSX_SEARCH((uint32_t)0, all->n, mid, all->v[mid].last_ns < b->from_ns);
	uint32_t to = from;
	size_t most = 0;

	for (; to < all->n && all->v[to].last_ns < b->to_ns; to++)
		most += all->v[to].n;
	if (nsx_new_arrays(m->arena, most, "collectives", err, m->member) ||
	    nsx_new_arrays(m->arena, to - from, "collectives", err, m->team))
		return err->rc;
	for (; from < to; from++)
		teams_add_team(m, &all->v[from]);
	return nsx_stopped(err);
}

/* How long, in ns, a device waited in a collective; -1: it is no member, or outside the window. */
static int64_t wait_in_collective(const struct nsx_model *m, const struct model_team *team,
				  uint32_t device)
{
	for (uint32_t i = team->at; i < team->at + team->n; i++) {
		const struct model_op *o = &m->op[m->member[i]];

		if ((o->flags & OP_ACTIVE) && nsx_stream_of(m->t, o->row)->device == device)
			return team->last_ns - o->start_ns;
	}
	return -1;
}

int64_t nsx_model_waited(const struct nsx_model *m, uint32_t device)
{
	int64_t sum_ns = 0;

	for (uint32_t k = 0; k < m->nteams; k++)
		nsx_add_to(&sum_ns, NSX_MAX(0, wait_in_collective(m, &m->team[k], device)));
	return sum_ns;
}

/* Divides n, a number of events in the window, by the number of the device's iterations in it. */
static size_t each_iteration(const struct nsx_model *m, uint32_t device, size_t n)
{
	struct nsx_window w = m->closure.window;
	double sum_ns = 0;
	size_t count = 0;

	for (size_t i = 0; i < m->f->niterations; i++) {
		const struct nsx_iteration *x = &m->f->iterations[i];

		if (x->device != device || x->start_ns < w.start_ns || x->end_ns > w.end_ns)
			continue;
		sum_ns += (double)(x->end_ns - x->start_ns);
		count++;
	}
	return count ? (size_t)((double)n * sum_ns / (double)count /
					(double)(w.end_ns - w.start_ns) + 0.5) :
		       0;
}

int nsx_model_takes_turns(const struct nsx_model *m, uint32_t device,
			  struct nsx_arena *scratch, int64_t *ret_most_ns, struct nsx_err *err)
{
	size_t n = 0, blocks = 0, period;
	int64_t *v, *sum_ns, *other_ns, *most_ns;

	*ret_most_ns = 0;
	if (nsx_new_arrays(scratch, m->nteams, "transfers", err, v, sum_ns, other_ns, most_ns))
		return err->rc;
	for (uint32_t k = 0; k < m->nteams; k++) {
		uint32_t row;

		v[n] = wait_in_collective(m, &m->team[k], device);
		row = m->op[m->member[m->team[k].at]].row;
		n += v[n] >= 0 && nsx_op_launch(m->t, row)->op == NSX_COMM_SENDRECV;
	}
	period = each_iteration(m, device, n);
	/* The median iteration is used, because an extra transfer makes an iteration differ
	 * completely.
	 */
	for (size_t i = period; period && i < n; i++) {
		size_t at = i / period - 1;

		nsx_add_to(&sum_ns[at], v[i]);
		nsx_add_to(&other_ns[at], llabs(v[i] - v[i - period]));
		most_ns[at] = NSX_MAX(most_ns[at], v[i]);
		blocks = at + 1;
	}
	/* After an iteration with a pause, the following ones are similar again. */
	for (size_t i = 0; i + 1 < blocks; i++)
		other_ns[i] = NSX_MIN(other_ns[i], other_ns[i + 1]);
	if (blocks && nsx_quantile(other_ns, blocks, 0.5) <
			      nsx_quantile(sum_ns, blocks, 0.5) / AGAIN)
		*ret_most_ns = (int64_t)nsx_quantile(most_ns, blocks, 0.5);
	nsx_arena_drop(scratch, v);
	return 0;
}
