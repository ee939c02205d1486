/* circles.c - which GPUs do the same collective or transfer with each other, how often,
 * and how long it takes once all of them are there.
 */
#include "base/stat.h"
#include "facts/replay/model.h"
#include "facts/replay/replay.h"

static nsx_str name_of(const struct nsx_model *m, const struct model_team *team)
{
	return nsx_op_shape(m->t, m->op[m->member[team->at]].row)->base_name;
}

static int64_t transfer_ns(const struct nsx_model *m, const struct model_team *team)
{
	return model_op_end(&m->op[m->member[team->at]]) - team->last_ns;
}

/* The same for the same GPUs in any order; 0: it is not all in the window. */
static uint64_t who(const struct nsx_model *m, const struct model_team *team)
{
	uint64_t sum = team->n;

	for (uint32_t i = team->at; i < team->at + team->n; i++) {
		const struct model_op *o = &m->op[m->member[i]];

		if (!(o->flags & OP_ACTIVE))
			return 0;
		sum += nsx_hash_u64(o->engine + 1);
	}
	return sum;
}

static void list_devices(const struct nsx_model *m, const struct model_team *team,
			 struct nsx_circle *x)
{
	x->ndevices = team->n;
	for (uint32_t i = 0; i < NSX_MIN(team->n, NSX_CIRCLE_NAMED); i++)
		x->device[i] = nsx_stream_of(
			m->t, m->op[m->member[team->at + i]].row)->device;
	nsx_sort(x->device, NSX_MIN(team->n, NSX_CIRCLE_NAMED),
		 sizeof(*x->device), nsx_cmp_u32);
}

static int group_teams(const struct nsx_model *m, uint32_t *of,
		       struct nsx_groups *groups, struct nsx_err *err)
{
	for (uint32_t k = 0; k < m->nteams; k++) {
		uint64_t key = who(m, &m->team[k]);

		of[k] = NSX_NONE;
		if (key && nsx_group(groups, name_of(m, &m->team[k]), key, &of[k],
				     err))
			return err->rc;
	}
	return 0;
}

/* Of the teams [v, v + n): rows and the median. */
static int fill_circle(const struct nsx_model *m, const uint32_t *v, uint32_t n,
		struct nsx_arena *a, struct nsx_circle *x, struct nsx_err *err)
{
	const struct model_team *first = &m->team[v[0]];
	int64_t *ns;

	if (!nsx_new_array(ns, a, n, "transfers", err) ||
	    !nsx_new_array(x->row, a, (size_t)n * first->n, "transfers", err))
		return err->rc;
	x->name = name_of(m, first);
	x->count = n;
	list_devices(m, first, x);
	for (uint32_t k = 0; k < n; k++) {
		const struct model_team *team = &m->team[v[k]];

		ns[k] = transfer_ns(m, team);
		for (uint32_t i = team->at; i < team->at + team->n; i++)
			x->row[x->nrows++] = m->op[m->member[i]].row;
	}
	nsx_sort(x->row, x->nrows, sizeof(*x->row), nsx_cmp_u32);
	x->transfer_ns = nsx_quantile(ns, n, 0.5);
	return 0;
}

int nsx_model_circles(const struct nsx_model *m, struct nsx_arena *a,
		      struct nsx_circle **ret, size_t *ret_n, struct nsx_err *err)
{
	struct nsx_groups groups = {0};
	uint32_t *of, *team, *at;
	int rc = nsx_new_arrays(a, m->nteams, "transfers", err, of, team) ?:
		 group_teams(m, of, &groups, err);
	size_t n = groups.n;

	nsx_groups_done(&groups);
	*ret_n = 0;
	if (rc || nsx_new_arrays(a, n + 2, "transfers", err, at) ||
	    !nsx_new_array(*ret, a, n, "transfers", err))
		return err->rc;
	NSX_DEAL(at, team, n, m->nteams, i, of[i]);
	for (size_t k = 0; k < n; k++)
		if (fill_circle(m, team + at[k], at[k + 1] - at[k], a,
				&(*ret)[k], err))
			return err->rc;
	*ret_n = n;
	return 0;
}
