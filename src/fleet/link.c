/* link.c - finds communicators whose transfers take longer than those of their equals.
 *
 * The transfer of a collective is the part in which nobody waits: the least length of its members.
 * Communicators of a family run the same sequence, so transfers can be compared without knowing the
 * number of bytes. With only two of them it is unknown which is usual, so the slower one counts as
 * slow only if it takes twice as long.
 */
#include <math.h>
#include "base/stat.h"
#include "fleet/judge.h"

#define LEAST_Z 5
#define LEAST_RATIO 0.10 /* least excess of a slow transfer, relative to the usual one */
#define LEAST_RATIO_OF_TWO 1.0
#define LEAST_OF_STEP 0.005

static double transfer_at(const struct nsx_fleet *f, const struct nsx_fcomm *c, size_t k)
{
	int64_t least = INT64_MAX;
	struct nsx_coll x;
	uint32_t n = 0;

	for (uint32_t m = 0; m < c->n; m++)
		if (nsx_coll_at(&c->m[m], k, &x)) {
			n++;
			least = NSX_MIN(least, x.ns);
		}
	return n == f->family[c->family].most && n > 1 &&
	       nsx_holds_all(c, k) ? (double)least : NAN;
}

struct links { /* of a family, by communicator: transfers above the median, and their number */
	double *excess, *n;
	double typical; /* mean of the medians */
	size_t compared; /* collectives */
	double *scratch;
};

/* Sums, over the family's collectives, each communicator's transfer above the median, and
 * that median.
 */
static void link_compare(const struct nsx_fleet *f, const struct nsx_family *fam, struct links *x)
{
	for (size_t k = 0; k < fam->length; k++) {
		size_t there = 0;
		double median;

		for (uint32_t c = 0; c < fam->n; c++) {
			double ns = transfer_at(f, &f->comm[fam->at + c], k);

			if (!isnan(ns))
				x->scratch[there++] = ns;
		}
		if (there < NSX_MIN(fam->n, 3))
			continue;
		median = nsx_median_of(x->scratch, there); /* the call sorts scratch */
		if (fam->n == 2)
			median = x->scratch[0];
		x->compared++;
		x->typical += median;
		for (uint32_t c = 0; c < fam->n; c++) {
			double ns = transfer_at(f, &f->comm[fam->at + c], k);

			x->excess[c] += isnan(ns) ? 0 : ns - median;
			x->n[c] += !isnan(ns);
		}
	}
	x->typical /= NSX_MAX(1, (double)x->compared);
}

/* Adds a link as a late entry of its members, if its mending wins enough. */
static int price_link(struct nsx_judge *j, uint32_t comm, double excess_ns, double typical_ns,
		      struct nsx_err *err)
{
	struct nsx_fleet *f = j->f;
	const struct nsx_fcomm *c = &f->comm[comm];
	struct nsx_late *l;
	double gain;

	if (nsx_fleet_replay(f, &(struct nsx_mended){.comm = comm, .link_ns = excess_ns},
			     NULL, &gain, err))
		return err->rc;
	if (gain < NSX_LEAST_SHARE * f->step_ns)
		return 0;
	l = nsx_add_late(j, nsx_members_of(c, j->a), c->n);
	l->cause = NSX_WHY_LINK;
	l->explained = 1;
	l->kind = NSX_LATE_STEADY;
	l->nsteps = (int64_t)f->nsteps;
	l->recoverable_ns = l->excess_ns = gain;
	l->ratio = 1 + excess_ns / typical_ns;
	l->p = 0;
	return 0;
}

static int link_judge(struct nsx_judge *j, const struct nsx_family *fam, struct links *x,
		      struct nsx_err *err)
{
	bool are_two = fam->n == 2;
	double middle, mad, steps = NSX_MAX(1, (double)j->f->nsteps);
	int rc = 0;

	for (uint32_t c = 0; c < fam->n; c++)
		x->scratch[c] = x->excess[c] = x->n[c] > 0 ? x->excess[c] / x->n[c] : 0;
	mad = NSX_MAX(NSX_SIGMA * nsx_spread_of(x->scratch, fam->n, &middle), x->typical / 100);
	if (are_two) {
		middle = 0;
		mad = x->typical / 100;
	}
	for (uint32_t c = 0; c < fam->n && !rc; c++)
		if ((x->excess[c] - middle) / mad >= LEAST_Z &&
		    x->excess[c] >= (are_two ? LEAST_RATIO_OF_TWO : LEAST_RATIO) * x->typical &&
		    x->excess[c] * (double)x->compared / steps >= LEAST_OF_STEP * j->f->step_ns)
			rc = price_link(j, fam->at + c, x->excess[c], x->typical, err);
	return rc;
}

int nsx_price_links(struct nsx_judge *j, struct nsx_err *err)
{
	const struct nsx_fleet *f = j->f;
	double *v = nsx_arena_get(j->a, ((size_t)f->ncomms + 1) * 3 * sizeof(*v));
	int rc = 0;

	for (size_t i = 0; i < f->nfamilies && !rc; i++) {
		const struct nsx_family *fam = &f->family[i];
		struct links x = {.excess = v, .n = v + fam->n, .scratch = v + 2 * (size_t)fam->n};

		if (fam->n < 2)
			continue;
		memset(v, 0, 2 * fam->n * sizeof(*v));
		link_compare(f, fam, &x);
		if (x.compared)
			rc = link_judge(j, fam, &x, err);
	}
	return rc;
}
