/* link.c - finds communicators whose transfers take longer than those of their equals.
 *
 * The transfer of a collective is the part in which nobody waits: the least length of its members.
 * Communicators of a family run the same sequence, so transfers can be compared without knowing the
 * number of bytes. With only two of them it is unknown which is usual, so the slower one counts as
 * slow only if it takes twice as long. Of collectives that are matched wrongly all members wait.
 * Where clocks show that some may be, no link is named by a few collectives.
 */
#include <math.h>
#include "base/stat.h"
#include "fleet/judge.h"
#include "fleet/match.h"

#define LEAST_Z 5
#define LEAST_RATIO 0.10 /* least excess of a slow transfer, relative to the usual one */
#define LEAST_RATIO_OF_TWO 1.0
#define LEAST_OF_STEP 0.005

enum { MOST_ALONE = 8 }; /* more slow links than this are priced only together */

/* If members are missing, a transfer may be shorter than this. That proves no slow link, but bounds
 * what is usual. *ret_is_sure: none is missing.
 */
static double transfer_at(const struct nsx_fleet *f, const struct nsx_fcomm *c, size_t k,
			  bool *ret_is_sure)
{
	int64_t least = INT64_MAX;
	struct nsx_coll x;
	uint32_t n = 0;

	for (uint32_t m = 0; m < c->n; m++)
		if (nsx_coll_at(&c->m[m], k, &x)) {
			n++;
			least = NSX_MIN(least, x.ns);
		}
	*ret_is_sure = n == f->family[c->family].most;
	return n > 1 && nsx_holds_all(c, k) ? (double)least : NAN;
}

struct links { /* of a family, by communicator: transfers above the median, and their number */
	uint32_t at; /* its first communicator */
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
			bool is_sure;
			double ns = transfer_at(f, &f->comm[fam->at + c], k, &is_sure);

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
			bool is_sure;
			double ns = transfer_at(f, &f->comm[fam->at + c], k, &is_sure);

			x->excess[c] += isnan(ns) || !is_sure ? 0 : ns - median;
			x->n[c] += !isnan(ns) && is_sure;
		}
	}
	x->typical /= NSX_MAX(1, (double)x->compared);
}

/* The time that a step saves if these links were as fast as usual. */
static int mend_links(const struct nsx_judge *j, const struct links *x, const uint32_t *comm,
		      size_t n, double *ret_ns, struct nsx_err *err)
{
	double *link_ns = nsx_arena_get(j->a, j->f->ncomms * sizeof(*link_ns));

	for (size_t i = 0; i < n; i++)
		link_ns[comm[i]] = x->excess[comm[i] - x->at];
	return nsx_fleet_replay(j->f, &(struct nsx_mended){.link_ns = link_ns}, NULL, ret_ns, err);
}

/* Adds links as one late entry of all their members. */
static void add_links(struct nsx_judge *j, const struct links *x, const uint32_t *comm, size_t n,
		      double gain_ns)
{
	struct nsx_fleet *f = j->f;
	uint32_t *v = nsx_arena_get(j->a, f->nranks * sizeof(*v)), nranks = 0;
	bool *is_in = nsx_arena_get(j->a, f->nranks * sizeof(*is_in));
	double excess = 0;
	struct nsx_late *l;

	for (size_t i = 0; i < n; i++) {
		const struct nsx_fcomm *c = &f->comm[comm[i]];

		for (uint32_t m = 0; m < c->n; m++)
			is_in[c->m[m].rank] = true;
		excess += x->excess[comm[i] - x->at] / (double)n;
	}
	for (uint32_t r = 0; r < f->nranks; r++)
		if (is_in[r])
			v[nranks++] = r;
	l = nsx_add_late(j, v, nranks);
	l->cause = NSX_WHY_LINK;
	l->explained = 1;
	l->kind = NSX_LATE_STEADY;
	l->nsteps = (int64_t)f->nsteps;
	l->recoverable_ns = l->excess_ns = gain_ns;
	l->ratio = 1 + excess / x->typical;
	l->p = 0;
}

/* Prices slow links. If several are equally slow, each alone costs nothing, because the others are
 * still slow: these are priced together, as far as that is more than the others cost.
 */
static int price_slow(struct nsx_judge *j, const struct links *x, const uint32_t *slow, size_t n,
		      struct nsx_err *err)
{
	double least = NSX_LEAST_SHARE * j->f->step_ns, all, gain;
	uint32_t *rest = nsx_arena_get(j->a, n * sizeof(*rest));
	size_t nrest = 0;

	if (!n)
		return 0;
	if (mend_links(j, x, slow, n, &all, err))
		return err->rc;
	for (size_t i = 0; i < n && all >= least; i++) {
		gain = n > MOST_ALONE ? 0 : all;
		if (n > 1 && n <= MOST_ALONE && mend_links(j, x, &slow[i], 1, &gain, err))
			return err->rc;
		if (gain >= least) {
			add_links(j, x, &slow[i], 1, gain);
			all -= gain;
		} else {
			rest[nrest++] = slow[i];
		}
	}
	if (nrest > 1 && all >= least)
		add_links(j, x, rest, nrest, all);
	return 0;
}

static int link_judge(struct nsx_judge *j, const struct nsx_family *fam, struct links *x,
		      struct nsx_err *err)
{
	bool are_two = fam->n == 2;
	double middle, mad, steps = NSX_MAX(1, (double)j->f->nsteps);
	uint32_t *slow = nsx_arena_get(j->a, fam->n * sizeof(*slow));
	size_t nslow = 0;

	for (uint32_t c = 0; c < fam->n; c++)
		x->scratch[c] = x->excess[c] = x->n[c] > 0 ? x->excess[c] / x->n[c] : 0;
	mad = NSX_MAX(NSX_SIGMA * nsx_spread_of(x->scratch, fam->n, &middle), x->typical / 100);
	if (are_two) {
		middle = 0;
		mad = x->typical / 100;
	}
	for (uint32_t c = 0; c < fam->n; c++)
		if ((x->excess[c] - middle) / mad >= LEAST_Z &&
		    x->excess[c] >= (are_two ? LEAST_RATIO_OF_TWO : LEAST_RATIO) * x->typical &&
		    x->excess[c] * (double)x->compared / steps >= LEAST_OF_STEP * j->f->step_ns)
			slow[nslow++] = fam->at + c;
	return price_slow(j, x, slow, nslow, err);
}

int nsx_price_links(struct nsx_judge *j, struct nsx_err *err)
{
	const struct nsx_fleet *f = j->f;
	double *v = nsx_arena_get(j->a, ((size_t)f->ncomms + 1) * 3 * sizeof(*v));
	int rc = 0;

	for (size_t i = 0; i < f->nfamilies && !rc; i++) {
		const struct nsx_family *fam = &f->family[i];
		struct links x = {.at = fam->at, .excess = v, .n = v + fam->n,
				  .scratch = v + 2 * (size_t)fam->n};

		if (fam->n < 2)
			continue;
		memset(v, 0, 2 * fam->n * sizeof(*v));
		link_compare(f, fam, &x);
		if (x.compared >= (f->clocks_contradict ? NSX_SAMPLES : 1))
			rc = link_judge(j, fam, &x, err);
	}
	return rc;
}
