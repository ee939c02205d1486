/* link.c - finds communicators whose transfers take longer than those of their equals.
 *
 * The transfer of a collective is the part in which nobody waits: the least length of its members.
 * Communicators of a family run the same sequence, so transfers can be compared without knowing the
 * number of bytes. With only two of them it is unknown which is usual, so the slower one counts as
 * slow only if it takes twice as long.
 */
#include <math.h>
#include "base/stat.h"
#include "fleet/fleet.h"

#define LEAST_Z 5
#define LEAST_RATIO 0.10 /* least excess of a slow transfer, relative to the usual one */
#define LEAST_RATIO_OF_TWO 1.0
#define LEAST_OF_STEP 0.005

static double transfer_at(const struct nsx_fleet *f, const struct nsx_fcomm *c, size_t k)
{
	int64_t least = INT64_MAX;
	uint32_t n = 0;

	for (uint32_t m = 0; m < c->n; m++) {
		const struct nsx_dchannel *ch = nsx_channel_of(f, &c->m[m]);
		size_t i = nsx_timed_at(&c->m[m], ch, k);

		if (i == SIZE_MAX)
			continue;
		n++;
		least = NSX_MIN(least, nsx_coll_ns(ch, i));
	}
	return n == f->family[c->family].most && n > 1 &&
	       nsx_holds_all(f, c, k) ? (double)least : NAN;
}

/* Sums, over the family's collectives, each communicator's transfer above the median, and
 * that median. Returns how many collectives were compared.
 */
static size_t link_compare(const struct nsx_fleet *f, const struct nsx_family *fam,
			   double *excess, double *n, double *ret_typical, double *scratch)
{
	size_t compared = 0;

	for (size_t k = 0; k < fam->length; k++) {
		size_t there = 0;
		double median;

		for (uint32_t c = 0; c < fam->n; c++) {
			double ns = transfer_at(f, &f->comm[fam->at + c], k);

			if (!isnan(ns))
				scratch[there++] = ns;
		}
		if (there < NSX_MIN(fam->n, 3))
			continue;
		median = nsx_median_of(scratch, there); /* the call sorts scratch */
		if (fam->n == 2)
			median = scratch[0];
		compared++;
		*ret_typical += median;
		for (uint32_t c = 0; c < fam->n; c++) {
			double ns = transfer_at(f, &f->comm[fam->at + c], k);

			if (isnan(ns))
				continue;
			excess[c] += ns - median;
			n[c]++;
		}
	}
	return compared;
}

static void link_judge(struct nsx_fleet *f, const struct nsx_family *fam,
		       double *excess, const double *n, double typical,
		       size_t compared, double *scratch)
{
	double middle, mad;
	double steps = NSX_MAX(1, (double)f->nsteps);

	for (uint32_t c = 0; c < fam->n; c++)
		scratch[c] = excess[c] = n[c] > 0 ? excess[c] / n[c] : 0;
	mad = NSX_MAX(NSX_SIGMA * nsx_spread_of(scratch, fam->n, &middle), typical / 100);
	if (fam->n == 2) {
		middle = 0;
		mad = typical / 100;
	}
	for (uint32_t c = 0; c < fam->n; c++) {
		double z = (excess[c] - middle) / mad;

		if (z >= LEAST_Z &&
		    excess[c] >= (fam->n == 2 ? LEAST_RATIO_OF_TWO : LEAST_RATIO) *
					 typical &&
		    excess[c] * (double)compared / steps >= LEAST_OF_STEP * f->step_ns)
			f->link[f->nlinks++] = (struct nsx_fslow_link){
				fam->at + c, excess[c], typical};
	}
}

int nsx_fleet_links(struct nsx_fleet *f, struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	double *v = nsx_arena_get(a, ((size_t)f->ncomms + 1) * 3 * sizeof(*v));

	nsx_new_array(f->link, f->arena, f->ncomms, "links", err);
	for (uint32_t i = 0; f->link && i < f->nfamilies; i++) {
		const struct nsx_family *fam = &f->family[i];
		double *excess = v, *n = v + fam->n, *scratch = n + fam->n;
		double typical = 0;
		size_t compared;

		if (fam->n < 2)
			continue;
		for (uint32_t c = 0; c < 2 * fam->n; c++)
			v[c] = 0;
		compared = link_compare(f, fam, excess, n, &typical, scratch);
		if (compared)
			link_judge(f, fam, excess, n, typical / (double)compared,
				   compared, scratch);
	}
	nsx_arena_free(a);
	return f->link ? 0 : err->rc;
}
