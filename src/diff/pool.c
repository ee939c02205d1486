/* pool.c - gives kernels numbers that are equal in all captures, and joins the units of a side. */
#include "diff/match.h"

/* Numbers the kernels of all captures. Kernels of a capture are in order, so that all lists are
 * walked at the same time.
 */
struct nsx_kernels nsx_number_kernels(struct nsx_side *const *all, size_t nbefore, size_t n,
				      struct nsx_arena *a)
{
	struct nsx_kernels ret = {.number = nsx_arena_get(a, n * sizeof(*ret.number))};
	size_t *at = nsx_arena_get(a, n * sizeof(*at)), most = 0;

	for (size_t i = 0; i < n; i++) {
		most += all[i]->nkernels;
		ret.number[i] = nsx_arena_get(a, all[i]->nkernels * sizeof(**ret.number));
	}
	ret.of = nsx_arena_get(a, most * sizeof(*ret.of));
	for (;; ret.n++) {
		const struct nsx_kernel *least = NULL;

		for (size_t i = 0; i < n; i++)
			if (at[i] < all[i]->nkernels &&
			    (!least || nsx_kernel_cmp(&all[i]->kernels[at[i]], least) < 0))
				least = &all[i]->kernels[at[i]];
		if (!least)
			return ret;
		for (size_t i = 0; i < n; i++) {
			const struct nsx_kernel *k = &all[i]->kernels[at[i]];
			const struct nsx_kernel **of = &ret.of[ret.n][i >= nbefore];

			if (at[i] == all[i]->nkernels || nsx_kernel_cmp(k, least))
				continue;
			ret.number[i][at[i]++] = ret.n;
			*of = *of ?: k;
		}
	}
}

/* Lanes -------------------------------------------------------------------------*/

static void pool_make_room(struct nsx_pool *p, size_t lane, struct nsx_arena *a)
{
	struct nsx_lane *to = &p->lanes[lane];
	size_t units = 0, uses = 0;

	for (size_t i = 0; i < p->nsides; i++) {
		units += p->seen[i]->lanes[lane].nunits;
		uses += p->seen[i]->lanes[lane].nuses;
	}
	*to = p->seen[0]->lanes[lane];
	to->nunits = to->nuses = 0;
	to->units = nsx_arena_get(a, units * sizeof(*to->units));
	to->uses = nsx_arena_get(a, uses * sizeof(*to->uses));
	to->order = nsx_arena_get(a, to->norder * sizeof(*to->order));
}

static void append(struct nsx_lane *to, const struct nsx_lane *from, const uint32_t *number)
{
	uint32_t first = (uint32_t)to->nunits;

	memcpy(to->units + first, from->units, from->nunits * sizeof(*from->units));
	to->nunits += from->nunits;
	for (size_t i = 0; i < from->nuses; i++) {
		struct nsx_kernel_use u = from->uses[i];

		u.unit += first;
		u.kernel = number[u.kernel];
		to->uses[to->nuses++] = u;
	}
}

struct nsx_pool nsx_pool_build(const struct nsx_seen *const *seen, size_t nsides,
			       uint32_t *const *number, struct nsx_arena *a)
{
	struct nsx_pool p = {.nsides = nsides, .seen = seen, .nlanes = SIZE_MAX,
			     .one_job = true, .splits_comm = true};

	for (size_t i = 0; i < nsides; i++) {
		p.nlanes = NSX_MIN(p.nlanes, seen[i]->nlanes);
		p.one_job &= seen[i]->one_job;
		p.splits_comm &= 2 * seen[i]->nsplit >= seen[i]->ncomm;
	}
	p.lanes = nsx_arena_get(a, p.nlanes * sizeof(*p.lanes));
	p.end = nsx_arena_get(a, p.nlanes * nsides * sizeof(*p.end));
	for (size_t l = 0; l < p.nlanes; l++) {
		struct nsx_lane *to = &p.lanes[l];

		pool_make_room(&p, l, a);
		for (size_t i = 0; i < nsides; i++) {
			append(to, &seen[i]->lanes[l], number[i]);
			p.end[l * nsides + i] = to->nunits;
		}
		for (size_t k = 0; k < to->norder; k++) {
			to->order[k] = seen[0]->lanes[l].order[k];
			to->order[k].kernel = number[0][to->order[k].kernel];
		}
	}
	return p;
}

/* Samples -----------------------------------------------------------------------*/

static int64_t wall_of(const struct nsx_pool *p, uint32_t lane, size_t unit)
{
	int64_t longest = 0;

	if (lane != NSX_NONE)
		return p->lanes[lane].units[unit].wall_ns;
	for (size_t l = 0; l < p->nlanes; l++)
		longest = NSX_MAX(longest, p->lanes[l].units[unit].wall_ns);
	return longest;
}

struct nsx_sample nsx_pool_sample(const struct nsx_pool *p, uint32_t lane, bool only_steady,
				  struct nsx_arena *a)
{
	size_t at = lane == NSX_NONE ? 0 : lane, from = 0, n = 0;
	const struct nsx_lane *units = &p->lanes[at];
	const size_t *end = p->end + at * p->nsides;
	size_t ncaptures = 0, *ends = nsx_arena_get(a, p->nsides * sizeof(*ends));
	int64_t *v = nsx_arena_get(a, units->nunits * sizeof(*v));

	for (size_t i = 0; i < p->nsides; from = end[i++]) {
		size_t before = n;

		for (size_t u = from; u < end[i]; u++)
			if (!only_steady || units->units[u].steady)
				v[n++] = wall_of(p, lane, u);
		if (n > before)
			ends[ncaptures++] = n;
	}
	return (struct nsx_sample){v, n, ends, ncaptures};
}
