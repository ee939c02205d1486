/* pool.c - gives kernels and details numbers that are equal in all captures of a side. */
#include "base/stat.h"
#include "diff/pool.h"

/* Kernels and details ---------------------------------------------------------*/

static void pool_kernels(struct nsx_pool *p, struct nsx_arena *a)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < p->nsides; i++)
		n += p->sides[i]->nkernels;
	p->kernels = nsx_arena_get(a, n * sizeof(*p->kernels));
	for (size_t i = 0, at = 0; i < p->nsides; at += p->sides[i++]->nkernels)
		memcpy(p->kernels + at, p->sides[i]->kernels,
		       p->sides[i]->nkernels * sizeof(*p->kernels));
	nsx_sort(p->kernels, n, sizeof(*p->kernels), nsx_kernel_cmp);
	NSX_EACH_RUN(i, next, n, !nsx_kernel_cmp(&p->kernels[i], &p->kernels[next]))
		p->kernels[kept++] = p->kernels[i];
	p->nkernels = (uint32_t)kept;
}

static void pool_details(struct nsx_pool *p, struct nsx_arena *a)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < p->nsides; i++)
		n += p->sides[i]->ndetails;
	p->details = nsx_arena_get(a, n * sizeof(*p->details));
	for (size_t i = 0, at = 0; i < p->nsides; at += p->sides[i++]->ndetails)
		memcpy(p->details + at, p->sides[i]->details,
		       p->sides[i]->ndetails * sizeof(*p->details));
	nsx_sort(p->details, n, sizeof(*p->details), nsx_cmp_text);
	NSX_EACH_RUN(i, next, n, !strcmp(p->details[i], p->details[next]))
		p->details[kept++] = p->details[i];
	p->ndetails = (uint32_t)kept;
}

/* Lanes -------------------------------------------------------------------------*/

/* The pool's numbers of a side's kernels and details. */
struct numbers {
	uint32_t *kernel, *detail;
};

static struct numbers pool_number(const struct nsx_pool *p, const struct nsx_side *s,
				  struct nsx_arena *a)
{
	struct numbers ret = {.kernel = nsx_arena_get(a, s->nkernels * sizeof(*ret.kernel)),
			      .detail = nsx_arena_get(a, s->ndetails * sizeof(*ret.detail))};

	for (uint32_t i = 0; i < s->nkernels; i++)
		ret.kernel[i] = (uint32_t)((const struct nsx_kernel *)bsearch(
			&s->kernels[i], p->kernels, p->nkernels,
			sizeof(*p->kernels), nsx_kernel_cmp) - p->kernels);
	for (size_t i = 0; i < s->ndetails; i++)
		ret.detail[i] = (uint32_t)((const char **)bsearch(
			&s->details[i], p->details, p->ndetails,
			sizeof(*s->details), nsx_cmp_text) - p->details);
	return ret;
}

static void pool_make_room(struct nsx_pool *p, size_t lane, struct nsx_arena *a)
{
	struct nsx_lane *to = &p->lanes[lane];
	size_t units = 0, uses = 0, split[NSX_NSPLITS] = {0};

	for (size_t i = 0; i < p->nsides; i++) {
		units += p->seen[i]->lanes[lane].nunits;
		uses += p->seen[i]->lanes[lane].nuses;
		for (unsigned k = 0; k < NSX_NSPLITS; k++)
			split[k] += p->seen[i]->lanes[lane].split[k].n;
	}
	*to = p->seen[0]->lanes[lane];
	to->nunits = to->nuses = 0;
	to->units = nsx_arena_get(a, units * sizeof(*to->units));
	to->uses = nsx_arena_get(a, uses * sizeof(*to->uses));
	for (unsigned k = 0; k < NSX_NSPLITS; k++)
		to->split[k] = (struct nsx_split_uses){
			nsx_arena_get(a, split[k] * sizeof(*to->split[k].v)), 0};
	to->order = nsx_arena_get(a, to->norder * sizeof(*to->order));
}

static void append(struct nsx_lane *to, const struct nsx_lane *from, const struct numbers *x)
{
	uint32_t first = (uint32_t)to->nunits;

	memcpy(to->units + first, from->units, from->nunits * sizeof(*from->units));
	to->nunits += from->nunits;
	for (size_t i = 0; i < from->nuses; i++) {
		struct nsx_kernel_use u = from->uses[i];

		u.unit += first;
		u.kernel = x->kernel[u.kernel];
		to->uses[to->nuses++] = u;
	}
	for (unsigned k = 0; k < NSX_NSPLITS; k++)
		for (size_t i = 0; i < from->split[k].n; i++) {
			struct nsx_split_use u = from->split[k].v[i];

			u.unit += first;
			u.detail = x->detail[u.detail];
			to->split[k].v[to->split[k].n++] = u;
		}
}

static void pool_lanes(struct nsx_pool *p, struct nsx_arena *a)
{
	p->nlanes = SIZE_MAX;
	p->one_job = p->splits_comm = true;
	for (size_t i = 0; i < p->nsides; i++) {
		p->nlanes = NSX_MIN(p->nlanes, p->seen[i]->nlanes);
		p->one_job &= p->seen[i]->one_job;
		p->splits_comm &= 2 * p->seen[i]->nsplit >= p->seen[i]->ncomm;
	}
	p->lanes = nsx_arena_get(a, p->nlanes * sizeof(*p->lanes));
	p->end = nsx_arena_get(a, p->nlanes * p->nsides * sizeof(*p->end));
	for (size_t l = 0; l < p->nlanes; l++)
		pool_make_room(p, l, a);
	for (size_t i = 0; i < p->nsides; i++) {
		struct numbers x = pool_number(p, p->sides[i], a);

		for (size_t l = 0; l < p->nlanes; l++) {
			struct nsx_lane *to = &p->lanes[l];
			const struct nsx_lane *from = &p->seen[i]->lanes[l];

			append(to, from, &x);
			p->end[l * p->nsides + i] = to->nunits;
			for (size_t k = 0; !i && k < to->norder; k++) {
				to->order[k] = from->order[k];
				to->order[k].kernel = x.kernel[from->order[k].kernel];
			}
		}
	}
}

struct nsx_pool nsx_pool_build(const struct nsx_side *const *sides, size_t nsides,
			       const struct nsx_seen *const *seen, struct nsx_arena *a)
{
	struct nsx_pool p = {.sides = sides, .nsides = nsides, .seen = seen};

	pool_kernels(&p, a);
	pool_details(&p, a);
	pool_lanes(&p, a);
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

struct nsx_sample nsx_pool_figures(const struct nsx_pool *p, uint32_t lane,
				   int64_t (*figure)(const struct nsx_lane *lane, size_t unit,
						     const void *ctx),
				   const void *ctx, struct nsx_arena *a)
{
	const struct nsx_lane *l = &p->lanes[lane];
	int64_t *v = nsx_arena_get(a, l->nunits * sizeof(*v));

	for (size_t u = 0; u < l->nunits; u++)
		v[u] = figure(l, u, ctx);
	return (struct nsx_sample){v, l->nunits, p->end + lane * p->nsides, p->nsides};
}
