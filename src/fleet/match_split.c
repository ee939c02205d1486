/* match_split.c - which ranks of a family are one communicator. */
#include <math.h>
#include "base/stat.h"
#include "fleet/match.h"

#define NOISE_NS 10000.0 /* transfers that vary by less are the same ...      */
#define NOISE 0.1	 /* ... if it is no more than this part of them       */

static int new_comm(struct nsx_matcher *m, struct nsx_mchannel *const *v, size_t n,
		    bool is_sure, struct nsx_err *err)
{
	struct nsx_fleet *f = m->f;
	struct nsx_fcomm *c = nsx_one_more(f->arena, f->comm, f->ncomms,
					   sizeof(*c), "communicators", err);

	if (!c)
		return err->rc;
	f->comm = c;
	c += f->ncomms;
	*c = (struct nsx_fcomm){.family = f->nfamilies, .n = (uint32_t)n,
				.is_sure = is_sure, .is_of_one = true};
	if (!nsx_new_array(c->m, f->arena, n, "members", err))
		return err->rc;
	for (size_t i = 0; i < n; i++) {
		const struct nsx_digest *x = f->rank[v[i]->rank].d;
		const struct nsx_digest *y = f->rank[v[0]->rank].d;

		c->m[i] = (struct nsx_fmember){v[i]->rank, v[i]->channel,
					       {{0, v[i]->shift}}, 1};
		c->is_of_one = c->is_of_one && x->utc_ns >= 0 &&
			       x->host == y->host && x->utc_ns == y->utc_ns &&
			       x->system_ns == y->system_ns;
	}
	f->ncomms++;
	return 0;
}

NSX_POINTER_ORDER(cmp_comm_hash, struct nsx_mchannel, UP(c->comm), UP(rank));

/* Ranks first + i x stride, i < size, of a job: the shapes that meshes have. */
struct shape {
	int64_t stride, size;
};

static int64_t group_of(const struct nsx_matcher *m, const struct nsx_mchannel *x,
			struct shape s)
{
	int64_t rank = m->f->rank[x->rank].number;

	return rank / (s.stride * s.size) * s.stride + rank % s.stride;
}

/* A collective's least length in a communicator is its transfer: always much the
 * same, and the same in most communicators of a family.  In a part of one it is
 * not, for the last rank may be elsewhere, as it may where half of them are
 * not here: such groups do not count.  Returns by how much it is not: 0 for all ranks in
 * one.
 */
static double variation(struct nsx_matcher *m, struct nsx_mchannel *const *v, size_t n,
			struct shape s, double *ret_transfer)
{
	size_t groups = (size_t)(m->most_rank / s.size + s.stride + 1);
	double *least = nsx_arena_get(m->scratch, groups * NSX_SAMPLES *
							  sizeof(*least));
	double *usual = nsx_arena_get(m->scratch, groups * sizeof(*usual));
	int64_t *here = nsx_arena_get(m->scratch, groups * sizeof(*here));
	double best[NSX_SAMPLES], diff[NSX_SAMPLES], sum = 0;
	size_t length = (size_t)v[0]->shift + v[0]->c->n, ngroups = 0;

	for (size_t i = 0; i < groups * NSX_SAMPLES; i++)
		least[i] = INFINITY;
	for (size_t k = 0; k < NSX_SAMPLES; k++)
		best[k] = INFINITY;
	for (size_t i = 0; i < n; i++) {
		size_t g = (size_t)group_of(m, v[i], s);

		here[g] += v[i]->c->has_times;
		for (size_t k = 0; v[i]->c->has_times && k < NSX_SAMPLES; k++) {
			int64_t at = (int64_t)(length * k / NSX_SAMPLES) -
				     v[i]->shift;
			double *x = &least[g * NSX_SAMPLES + k];

			if (at < 0 || at >= (int64_t)v[i]->c->n)
				continue;
			*x = NSX_MIN(*x, (double)nsx_coll_ns(v[i]->c,
							     (size_t)at));
			best[k] = NSX_MIN(best[k], *x);
		}
	}
	for (size_t g = 0; g < groups; g++) {
		size_t there = 0;

		for (size_t k = 0; k < NSX_SAMPLES; k++)
			if (!isinf(least[g * NSX_SAMPLES + k]))
				diff[there++] = least[g * NSX_SAMPLES + k] -
						best[k];
		if (!there || 2 * here[g] <= s.size)
			continue;
		usual[ngroups++] = nsx_median_of(diff, there);
		sum += diff[there - 1 - there / 10] - diff[there / 10];
	}
	*ret_transfer = nsx_median_of(best, NSX_SAMPLES);
	return ngroups ? NSX_MAX(sum / (double)ngroups,
				 nsx_median_of(usual, ngroups)) : INFINITY;
}

/* How far the ends of a group's collectives are apart, but for a constant and a
 * drift: four fifths of all channels are no farther from their group's first.
 */
static double apart(struct nsx_matcher *m, struct nsx_mchannel *const *v, size_t n,
		    struct shape s)
{
	size_t groups = (size_t)(m->most_rank / s.size + s.stride + 1), k = 0;
	const struct nsx_mchannel **first = nsx_arena_get(m->scratch, groups *
								 sizeof(*first));
	const struct nsx_mchannel **last = nsx_arena_get(m->scratch, groups *
								sizeof(*last));
	double *spread = nsx_arena_get(m->scratch, (n + 1) * sizeof(*spread));

	for (size_t i = 0; i < n; i++) {
		const struct nsx_mchannel **x = &first[group_of(m, v[i], s)];
		const struct nsx_mchannel **before =
			&last[group_of(m, v[i], s)];

		if (!*x)
			*x = v[i];
		else
			spread[k++] = NSX_MAX(
				nsx_spread_at(*x, v[i],
					      v[i]->shift - (*x)->shift),
				nsx_apart_at(m, *before, v[i],
					     v[i]->shift - (*before)->shift));
		*before = v[i];
	}
	nsx_median_of(spread, k); /* sorts */
	return k ? spread[k * 4 / 5] : INFINITY;
}

/* Shapes of a job in order, the largest groups first; the last has groups of 1.
 * Where the mesh is known they are those of its axes.
 */
static void next_shape(const struct nsx_mesh *mesh, int64_t world,
		       struct shape *s)
{
	do {
		if (++s->stride * s->size > world) {
			s->size--;
			s->stride = 1;
		}
	} while (s->size > 1 && (world % (s->stride * s->size) ||
				 (mesh->n && !nsx_mesh_has(mesh, s->stride,
							   s->size))));
}

/* The largest groups whose ends agree as well as any.  That parts of one would
 * agree as well, where its clocks are not all the same and ends of all are near
 * each other, shows in transfers that vary: then all are one.
 */
static struct shape shape_of(struct nsx_matcher *m, struct nsx_mchannel *const *v,
			     size_t n)
{
	int64_t world = NSX_MAX(m->most_rank + 1, m->f->expected);
	const struct shape all = {1, world};
	struct shape s, best = all;
	double least = INFINITY, found = INFINITY, transfer = INFINITY;
	double of_all = apart(m, v, n, all);

	if (n < 3)
		return all;
	for (s = all; s.size > 1; next_shape(&m->f->mesh, world, &s)) {
		least = NSX_MIN(least, apart(m, v, n, s));
		nsx_arena_clear(m->scratch);
	}
	for (s = all; s.size >= best.size || isinf(found);
	     next_shape(&m->f->mesh, world, &s)) {
		double x = apart(m, v, n, s);

		nsx_arena_clear(m->scratch);
		if (x > 3 * least + NSX_END_NOISE_NS || x >= found)
			continue;
		found = x;
		best = s;
	}
	if (best.size < world && of_all <= NSX_TOGETHER_NS) {
		found = variation(m, v, n, best, &transfer);
		nsx_arena_clear(m->scratch);
		if (found > NSX_MIN(NOISE_NS, NOISE * transfer))
			return all;
	}
	return best;
}

NSX_POINTER_ORDER(cmp_group, struct nsx_mchannel, UP(group), UP(rank));

/* Of sends and receives those whose ends do not agree are of nobody that is known:
 * who is between two others sends to both on one channel.
 */
static int new_comms(struct nsx_matcher *m, struct nsx_mchannel *const *v, size_t n,
		     bool is_sure, struct nsx_err *err)
{
	const struct shape all = {1, m->most_rank + 1};
	bool are_apart = n > 1 && !v[0]->c->comm && nsx_is_of_pairs(v[0]->c) &&
			 v[0]->c->has_times && apart(m, v, n, all) > NSX_TOGETHER_NS;
	int rc = are_apart ? 0 : new_comm(m, v, n, is_sure, err);

	for (size_t i = 0; i < n && are_apart && !rc; i++)
		rc = new_comm(m, v + i, 1, false, err);
	nsx_arena_clear(m->scratch);
	return rc;
}

int nsx_match_split(struct nsx_matcher *m, struct nsx_err *err)
{
	struct nsx_mchannel **v = m->in;
	size_t n = m->nin, nknown = 0, k;
	int64_t world = NSX_MAX(m->most_rank + 1, m->f->expected);
	struct shape s;

	nsx_sort(v, n, sizeof(*v), cmp_comm_hash); /* unknown ones first */
	while (nknown < n && v[n - nknown - 1]->c->comm)
		nknown++;
	for (size_t i = 0; i < n; i++)
		v[i]->group = v[i]->c->comm;
	s = nknown < n && v[0]->c->has_times ? shape_of(m, v, n - nknown) :
			(struct shape){1, m->most_rank + 1};
	for (size_t i = 0; i < n - nknown; i++)
		v[i]->group = (uint64_t)group_of(m, v[i], s);
	nsx_sort(v, n - nknown, sizeof(*v), cmp_group);
	for (size_t at = 0; at < n; at += k) {
		for (k = 1; at + k < n && v[at + k]->group == v[at]->group; k++)
			;
		if (new_comms(m, v + at, k, v[at]->c->comm || world == 2, err))
			return err->rc;
	}
	return 0;
}
