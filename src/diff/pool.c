/* pool.c - gives kernels and details numbers that are equal in all captures of a side. */
#include <stdlib.h>
#include <string.h>
#include "base/stat.h"
#include "diff/pool.h"

/* Kernels and details ---------------------------------------------------------*/

static int pool_kernels(struct nsx_pool *p, struct nsx_arena *a, struct nsx_err *err)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < p->nsides; i++)
		n += p->sides[i]->nkernels;
	if (!nsx_new_array(p->kernels, a, n, "kernels", err))
		return err->rc;
	for (size_t i = 0, at = 0; i < p->nsides; i++) {
		const struct nsx_side *s = p->sides[i];

		memcpy(p->kernels + at, s->kernels, s->nkernels * sizeof(*s->kernels));
		at += s->nkernels;
	}
	nsx_sort(p->kernels, n, sizeof(*p->kernels), nsx_kernel_cmp);
	for (size_t i = 0; i < n; i++)
		if (!kept || nsx_kernel_cmp(&p->kernels[kept - 1], &p->kernels[i]))
			p->kernels[kept++] = p->kernels[i];
	p->nkernels = (uint32_t)kept;
	return 0;
}

static int pool_details(struct nsx_pool *p, struct nsx_arena *a, struct nsx_err *err)
{
	size_t n = 0, kept = 0, at = 0;

	for (size_t i = 0; i < p->nsides; i++)
		n += p->sides[i]->ndetails;
	if (!nsx_new_array(p->details, a, n, "causes", err))
		return err->rc;
	for (size_t i = 0; i < p->nsides; at += p->sides[i++]->ndetails)
		memcpy(p->details + at, p->sides[i]->details,
		       p->sides[i]->ndetails * sizeof(*p->details));
	nsx_sort(p->details, n, sizeof(*p->details), nsx_cmp_text);
	for (size_t i = 0; i < n; i++)
		if (!kept || strcmp(p->details[kept - 1], p->details[i]))
			p->details[kept++] = p->details[i];
	p->ndetails = (uint32_t)kept;
	return 0;
}

/* Lanes -------------------------------------------------------------------------*/

/* The pool's numbers of a side's kernels and details. */
struct numbers {
	uint32_t *kernel, *detail;
};

static int pool_number(const struct nsx_pool *p, const struct nsx_side *s,
		       struct nsx_arena *a, struct numbers *ret, struct nsx_err *err)
{
	if (!nsx_new_array(ret->kernel, a, s->nkernels, "kernels", err) ||
	    !nsx_new_array(ret->detail, a, s->ndetails, "causes", err))
		return err->rc;
	for (uint32_t i = 0; i < s->nkernels; i++)
		ret->kernel[i] = (uint32_t)((const struct nsx_kernel *)bsearch(
			&s->kernels[i], p->kernels, p->nkernels,
			sizeof(*p->kernels), nsx_kernel_cmp) - p->kernels);
	for (size_t i = 0; i < s->ndetails; i++)
		ret->detail[i] = (uint32_t)((const char **)bsearch(
			&s->details[i], p->details, p->ndetails,
			sizeof(*s->details), nsx_cmp_text) - p->details);
	return 0;
}

static int pool_make_room(struct nsx_pool *p, size_t lane, struct nsx_arena *a, struct nsx_err *err)
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
	nsx_new_array(to->units, a, units, "units", err);
	nsx_new_array(to->uses, a, uses, "kernels", err);
	for (unsigned k = 0; k < NSX_NSPLITS; k++) {
		to->split[k] = (struct nsx_split_uses){
			nsx_arena_try_array(a, split[k], sizeof(*to->split[k].v), "causes",
					    err), 0};
		if (!to->split[k].v)
			return err->rc;
	}
	nsx_new_array(to->order, a, to->norder, "kernels", err);
	return to->units && to->uses && to->order ? 0 : err->rc;
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

static int pool_lanes(struct nsx_pool *p, struct nsx_arena *a, struct nsx_err *err)
{
	p->nlanes = SIZE_MAX;
	p->one_job = p->splits_comm = true;
	for (size_t i = 0; i < p->nsides; i++) {
		p->nlanes = NSX_MIN(p->nlanes, p->seen[i]->nlanes);
		p->one_job &= p->seen[i]->one_job;
		p->splits_comm &= 2 * p->seen[i]->nsplit >= p->seen[i]->ncomm;
	}
	if (!nsx_new_array(p->lanes, a, p->nlanes, "lanes", err) ||
	    !nsx_new_array(p->end, a, p->nlanes * p->nsides, "captures", err))
		return err->rc;
	for (size_t l = 0; l < p->nlanes; l++)
		if (pool_make_room(p, l, a, err))
			return err->rc;
	for (size_t i = 0; i < p->nsides; i++) {
		struct numbers x = {0};

		if (pool_number(p, p->sides[i], a, &x, err))
			return err->rc;
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
	return 0;
}

int nsx_pool_build(const struct nsx_side *const *sides, size_t nsides,
		   const struct nsx_seen *const *seen, struct nsx_arena *a,
		   struct nsx_pool *ret, struct nsx_err *err)
{
	*ret = (struct nsx_pool){.sides = sides, .nsides = nsides,
				 .seen = seen};
	if (pool_kernels(ret, a, err) || pool_details(ret, a, err))
		return err->rc;
	return pool_lanes(ret, a, err);
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

int nsx_pool_sample(const struct nsx_pool *p, uint32_t lane, bool only_steady,
		    struct nsx_arena *a, struct nsx_sample *ret, struct nsx_err *err)
{
	size_t at = lane == NSX_NONE ? 0 : lane, from = 0, n = 0;
	const struct nsx_lane *units = &p->lanes[at];
	const size_t *end = p->end + at * p->nsides;
	size_t ncaptures = 0, *ends;
	int64_t *v;

	if (!nsx_new_array(v, a, units->nunits, "units", err) ||
	    !nsx_new_array(ends, a, p->nsides, "captures", err))
		return err->rc;
	for (size_t i = 0; i < p->nsides; from = end[i++]) {
		size_t before = n;

		for (size_t u = from; u < end[i]; u++)
			if (!only_steady || units->units[u].steady)
				v[n++] = wall_of(p, lane, u);
		if (n > before)
			ends[ncaptures++] = n;
	}
	*ret = (struct nsx_sample){v, n, ends, ncaptures};
	return 0;
}

int nsx_pool_figures(const struct nsx_pool *p, uint32_t lane,
		     int64_t (*figure)(const struct nsx_lane *lane, size_t unit, const void *ctx),
		     const void *ctx, struct nsx_arena *a,
		     struct nsx_sample *ret, struct nsx_err *err)
{
	const struct nsx_lane *l = &p->lanes[lane];
	int64_t *v;

	if (!nsx_new_array(v, a, l->nunits, "units", err))
		return err->rc;
	for (size_t u = 0; u < l->nunits; u++)
		v[u] = figure(l, u, ctx);
	*ret = (struct nsx_sample){v, l->nunits, p->end + lane * p->nsides,
				   p->nsides};
	return 0;
}
