/* link.c - finds communicators whose transfers take longer than those of their equals.
 *
 * The transfer of a collective is the part in which nobody waits: the least length of its members.
 * Communicators of a family run the same sequence, so their transfers can be compared even if the
 * number of bytes is not recorded. If it is, only transfers of equally many bytes are compared, and
 * those within a host, where links are faster, only with each other. The usual transfer is the
 * median of those that take less than twice as long as the fastest quarter, because the slower one
 * of two kinds of links may be in the majority. If collectives are matched wrongly, all members
 * seem to wait. So where clocks show that some may be, a few collectives are not enough to name a
 * link.
 */
#include <math.h>
#include "base/stat.h"
#include "fleet/judge.h"
#include "fleet/match.h"

#define LEAST_Z 5
#define LEAST_RATIO 0.10 /* least excess of a slow transfer, relative to the usual one */
#define LEAST_RATIO_OF_MANY 1.0 /* least excess if the usual transfers may be the minority */
#define LEAST_OF_STEP 0.005

enum { MOST_ALONE = 8 }; /* more slow links than this are priced only together */

/* The shortest length of the k-th collective; if all members have one clock, the time from the last
 * start to the first end, as the rank that always comes last may also end a little later than the
 * others. If members are missing, the transfer may be shorter still: the length then proves no slow
 * link, but bounds what is usual. *ret_is_sure: no member is missing.
 */
static double transfer_at(const struct nsx_fleet *f, const struct nsx_fcomm *c, size_t k,
			  bool *ret_is_sure)
{
	double least = INFINITY, start = -INFINITY, end = INFINITY;
	bool is_one_clock = true;
	struct nsx_coll x;
	uint32_t n = 0;

	for (uint32_t m = 0; m < c->n; m++)
		if (nsx_coll_at(&c->m[m], k, &x)) {
			const struct nsx_frank *r = &f->rank[c->m[m].rank];

			n++;
			least = NSX_MIN(least, (double)x.ns);
			start = NSX_MAX(start, r->zero_ns + (double)x.start_ns);
			end = NSX_MIN(end, r->zero_ns + (double)nsx_end_of(&x));
			is_one_clock &= r->clock == f->rank[c->m->rank].clock;
		}
	*ret_is_sure = n == f->family[c->family].most;
	return n < 2 || !nsx_holds_all(c, k) ? NAN : is_one_clock ? NSX_MAX(0, end - start) : least;
}

struct links { /* communicators that are compared: transfers above the usual, and their number */
	uint32_t *comm, ncomms; /* indices */
	bool *is_within;	/* whether all ranks are of one host */
	/* the communicators are of one family, so their k-th collectives are alike */
	bool are_aligned;
	bool are_pairs_unknown; /* who waits for whom is not known (nsx_has_unknown_pairs) */
	size_t length;	  /* most collectives of one communicator */
	double *excess, *n;
	bool *is_usual;
	double typical; /* mean of the usual transfers */
	size_t compared; /* collectives */
	struct transfer {
		int64_t kind; /* transfers are alike by bytes, and by staying within a host */
		double ns;
		uint32_t comm;
		bool is_sure;
	} *now;
	double *scratch;
};

NSX_ORDER(cmp_transfer, struct transfer, UP(kind), UP(ns), UP(comm));

/* Lists the transfers of the k-th collectives by kind. */
static size_t list_transfers(const struct nsx_fleet *f, const struct links *x, size_t k)
{
	size_t n = 0;

	for (uint32_t i = 0; i < x->ncomms; i++) {
		const struct nsx_fcomm *c = &f->comm[x->comm[i]];
		size_t at = x->are_aligned ? k : c->first + k;
		struct transfer *t = &x->now[n];

		t->ns = transfer_at(f, c, at, &t->is_sure);
		if (isnan(t->ns))
			continue;
		t->kind = 2 * nsx_op_at(c, at)->bytes + x->is_within[i];
		t->comm = i;
		n++;
	}
	nsx_sort(x->now, n, sizeof(*x->now), cmp_transfer);
	return n;
}

/* The usual one of n transfers of one kind; NAN: none. At first no communicator is known to be
 * usual, so it is the one that a quarter are faster than.
 */
static double usual_of(const struct links *x, const struct transfer *t, size_t n, bool is_first)
{
	size_t nusual = 0;

	if (is_first)
		return n > 1 ? t[(n - 1) / 4].ns : NAN;
	for (size_t i = 0; i < n; i++)
		if (x->is_usual[t[i].comm])
			x->scratch[nusual++] = t[i].ns;
	return n > 1 && nusual ? nsx_median_of(x->scratch, nusual) : NAN;
}

/* Finds by how much each communicator's transfers exceed the usual ones on average, which
 * communicators are usual, and the mean of the usual transfers.
 */
static void link_compare(const struct nsx_fleet *f, struct links *x, bool is_first)
{
	memset(x->excess, 0, x->ncomms * sizeof(*x->excess));
	memset(x->n, 0, x->ncomms * sizeof(*x->n));
	x->typical = 0;
	x->compared = 0;
	for (size_t k = 0; k < x->length; k++) {
		size_t n = list_transfers(f, x, k);
		double sum = 0, nusual = 0;

		NSX_EACH_RUN(i, next, n, x->now[next].kind == x->now[i].kind) {
			double usual = usual_of(x, x->now + i, next - i, is_first);

			if (isnan(usual))
				continue;
			sum += usual;
			nusual++;
			for (const struct transfer *t = x->now + i; t < x->now + next; t++) {
				x->excess[t->comm] += t->is_sure ? t->ns - usual : 0;
				x->n[t->comm] += t->is_sure;
			}
		}
		x->typical += nusual > 0 ? sum / nusual : 0;
		x->compared += nusual > 0;
	}
	x->typical /= NSX_MAX(1, (double)x->compared);
	for (uint32_t c = 0; c < x->ncomms; c++) {
		x->excess[c] = x->n[c] > 0 ? x->excess[c] / x->n[c] : 0;
		x->is_usual[c] = x->excess[c] < LEAST_RATIO_OF_MANY * x->typical;
	}
}

struct slow { /* a slow link */
	uint32_t comm;
	uint32_t set; /* slow links of one set were compared with each other */
	double ns;    /* excess of each of its transfers */
	double ratio; /* excess relative to the usual transfers */
};

/* The time that a step saves if these links were as fast as usual, and these ranks not late. */
static int mend_links(const struct nsx_judge *j, const struct slow *v, size_t n,
		      const uint32_t *ranks, size_t nranks, double *ret_ns, struct nsx_err *err)
{
	double *link_ns = nsx_arena_get(j->a, j->f->ncomms * sizeof(*link_ns));

	for (size_t i = 0; i < n; i++)
		link_ns[v[i].comm] = v[i].ns;
	return nsx_fleet_replay(j->f, &(struct nsx_mended){ranks, nranks, link_ns}, NULL, ret_ns,
				err);
}

/* Adds links as one late entry. Its ranks are those of the host or, if host is NSX_NONE, all
 * members of the links.
 */
static void add_links(struct nsx_judge *j, const struct slow *slow, size_t n, uint32_t host,
		      double gain_ns)
{
	struct nsx_fleet *f = j->f;
	uint32_t *v = nsx_arena_get(j->a, f->nranks * sizeof(*v)), nranks = 0;
	uint32_t *comms = nsx_arena_get(f->arena, n * sizeof(*comms));
	bool *is_in = nsx_arena_get(j->a, f->nranks * sizeof(*is_in));
	double ratio = 0;
	struct nsx_late *l;

	for (size_t i = 0; i < n; i++) {
		const struct nsx_fcomm *c = &f->comm[slow[i].comm];

		comms[i] = slow[i].comm;
		for (uint32_t m = 0; m < c->n; m++)
			is_in[c->m[m].rank] = true;
		ratio += slow[i].ratio / (double)n;
	}
	for (uint32_t r = 0; r < f->nranks; r++)
		if (host == NSX_NONE ? is_in[r] : f->rank[r].host == host)
			v[nranks++] = r;
	l = nsx_add_late(j, v, nranks);
	l->cause = NSX_WHY_LINK;
	l->explained = 1;
	l->kind = NSX_LATE_STEADY;
	l->nsteps = (int64_t)f->nsteps;
	l->recoverable_ns = l->excess_ns = gain_ns;
	l->ratio = ratio;
	l->added_ns = NAN;
	l->host = host;
	l->comms = comms;
	l->ncomms = (uint32_t)n;
	l->p = 0;
}

/* Prices slow links alone if that adds up to what they cost together. If several are equally slow,
 * each alone costs less, because the others are still slow: then they are one entry.
 */
static int price_slow(struct nsx_judge *j, const struct slow *slow, size_t n, struct nsx_err *err)
{
	double least = NSX_LEAST_SHARE * j->f->step_ns, all, sum = 0;
	double *gain = nsx_arena_get(j->a, n * sizeof(*gain));

	if (!n)
		return 0;
	if (mend_links(j, slow, n, NULL, 0, &all, err))
		return err->rc;
	for (size_t i = 0; i < n && n <= MOST_ALONE && n > 1 && all >= least; i++) {
		if (mend_links(j, &slow[i], 1, NULL, 0, &gain[i], err))
			return err->rc;
		sum += gain[i] >= least ? gain[i] : 0;
	}
	if (all >= least && sum < all - least)
		add_links(j, slow, n, NSX_NONE, all);
	for (size_t i = 0; i < n && sum >= all - least; i++)
		if (gain[i] >= least)
			add_links(j, &slow[i], 1, NSX_NONE, gain[i]);
	return 0;
}

/* Whether all communicators of this one's stage are slow, or stages are unknown. Such a
 * communicator may be slow because it has more to move than others.
 */
static bool is_of_slow_stage(const struct nsx_fleet *f, const struct links *x, const bool *is_slow,
			     uint32_t comm)
{
	const struct nsx_fcomm *c = &f->comm[x->comm[comm]];
	uint32_t stage = f->stage[c->m->rank];

	/* collectives launched before the capture have no bytes */
	if ((!f->has_stages && !x->are_pairs_unknown) || nsx_is_of_pairs(c->m->c) ||
	    nsx_op_at(c, c->first + (c->end - c->first) / 2)->bytes >= 0)
		return false;
	return !f->has_stages || !NSX_ANY(i, x->ncomms,
			f->stage[f->comm[x->comm[i]].m->rank] == stage && !is_slow[i]);
}

/* Whether a communicator's members are inferred although their clocks were never compared with
 * others: there may be more members, for which these wait.
 */
static bool is_guess(const struct nsx_fleet *f, const struct nsx_fcomm *c)
{
	return !c->is_sure &&
	       NSX_ANY(m, c->n, f->clock[f->rank[c->m[m].rank].clock].component);
}

/* Compares links, and lists the slow ones. Returns how many. */
static size_t list_slow(const struct nsx_judge *j, struct links *x, uint32_t set, struct slow *ret)
{
	bool *is_slow = nsx_arena_get(j->a, x->ncomms * sizeof(*is_slow));
	double middle, mad, steps = NSX_MAX(1, (double)j->f->nsteps);
	size_t n = 0, nusual = 0;

	if (x->ncomms < 2 || NSX_ANY(i, x->ncomms, is_guess(j->f, &j->f->comm[x->comm[i]])))
		return 0;
	link_compare(j->f, x, true);
	link_compare(j->f, x, false);
	if (x->compared < (j->f->clocks_contradict ? NSX_SAMPLES : 1))
		return 0;
	for (uint32_t c = 0; c < x->ncomms; c++)
		if (x->is_usual[c])
			x->scratch[nusual++] = x->excess[c];
	mad = NSX_MAX(NSX_SIGMA * nsx_spread_of(x->scratch, nusual, &middle), x->typical / 100);
	for (uint32_t c = 0; c < x->ncomms; c++)
		is_slow[c] = (x->excess[c] - middle) / mad >= LEAST_Z &&
			     x->excess[c] >= LEAST_RATIO * x->typical &&
			     x->excess[c] * (double)x->compared / steps >=
				     LEAST_OF_STEP * j->f->step_ns;
	for (uint32_t c = 0; c < x->ncomms; c++)
		if (is_slow[c] && !is_of_slow_stage(j->f, x, is_slow, c))
			ret[n++] = (struct slow){x->comm[c], set, x->excess[c],
						 1 + x->excess[c] / x->typical};
	return n;
}

/* Whether a communicator joins a host with others. */
static bool is_at_host(const struct nsx_fleet *f, const struct nsx_fcomm *c, uint32_t host)
{
	for (uint32_t m = 0; m < c->n; m++)
		if (f->rank[c->m[m].rank].host == host)
			return nsx_count_hosts(f, c) > 1;
	return false;
}

/* The one host to which all slow links go, if no link to it is fast in families that have slow ones;
 * NSX_NONE: none, or they join it with only one other host.
 */
static uint32_t host_of_links(const struct nsx_judge *j, const struct slow *slow, size_t n)
{
	const struct nsx_fleet *f = j->f;
	bool *is_slow = nsx_arena_get(j->a, f->ncomms * sizeof(*is_slow));
	bool *has_slow = nsx_arena_get(j->a, f->nfamilies * sizeof(*has_slow));
	bool *is_joined = nsx_arena_get(j->a, f->nhosts * sizeof(*is_joined));
	uint32_t ret = NSX_NONE, nhosts = 0, njoined = 0;

	for (size_t i = 0; i < n; i++) {
		const struct nsx_fcomm *c = &f->comm[slow[i].comm];

		is_slow[slow[i].comm] = has_slow[c->family] = true;
		for (uint32_t m = 0; m < c->n; m++) {
			bool *x = &is_joined[f->rank[c->m[m].rank].host];

			njoined += !*x;
			*x = true;
		}
	}
	for (uint32_t h = 0; h < f->nhosts && njoined > 2; h++) {
		uint32_t c = 0;

		while (c < f->ncomms && (!has_slow[f->comm[c].family] ||
					 is_at_host(f, &f->comm[c], h) == is_slow[c]))
			c++;
		if (c < f->ncomms)
			continue;
		nhosts++;
		ret = h;
	}
	return nhosts == 1 ? ret : NSX_NONE;
}

/* Prices all slow links, by set or, if they are one host's, together. */
static int link_price(struct nsx_judge *j, struct slow *slow, size_t n, struct nsx_err *err)
{
	struct nsx_fleet *f = j->f;
	uint32_t host = host_of_links(j, slow, n);
	uint32_t *late = nsx_arena_get(j->a, f->nranks * sizeof(*late)), nlate = 0;
	bool *is_late = nsx_arena_get(j->a, f->nranks * sizeof(*is_late));
	size_t before = f->nlate;
	double gain;

	for (size_t i = 0; i < before; i++)
		for (uint32_t k = 0; k < f->late[i].n; k++)
			is_late[f->late[i].ranks[k]] = true;
	for (uint32_t r = 0; r < f->nranks; r++)
		if (is_late[r])
			late[nlate++] = r;
	if (host != NSX_NONE) {
		if (mend_links(j, slow, n, NULL, 0, &gain, err))
			return err->rc;
		if (gain >= NSX_LEAST_SHARE * f->step_ns)
			add_links(j, slow, n, host, gain);
	} else {
		NSX_EACH_RUN(i, next, n, slow[i].set == slow[next].set)
			if (price_slow(j, slow + i, next - i, err))
				return err->rc;
	}
	return f->nlate == before ? 0 :
	       mend_links(j, slow, n, late, nlate, &f->all_recoverable_ns, err);
}

int nsx_price_links(struct nsx_judge *j, struct nsx_err *err)
{
	const struct nsx_fleet *f = j->f;
	size_t n = (size_t)f->ncomms + 1, nslow = 0;
	struct slow *slow = nsx_arena_get(j->a, n * sizeof(*slow));
	struct links x = {.are_pairs_unknown = nsx_has_unknown_pairs(f),
			  .comm = nsx_arena_get(j->a, n * sizeof(*x.comm)),
			  .is_within = nsx_arena_get(j->a, n * sizeof(*x.is_within)),
			  .excess = nsx_arena_get(j->a, n * sizeof(*x.excess)),
			  .n = nsx_arena_get(j->a, n * sizeof(*x.n)),
			  .is_usual = nsx_arena_get(j->a, n * sizeof(*x.is_usual)),
			  .now = nsx_arena_get(j->a, n * sizeof(*x.now)),
			  .scratch = nsx_arena_get(j->a, n * sizeof(*x.scratch))};

	/* In the last turn links of all families are compared: those between stages, which pass on
	 * equally much.
	 */
	for (uint32_t i = 0; i <= f->nfamilies; i++) {
		const struct nsx_family *fam = i < f->nfamilies ? &f->family[i] : NULL;
		uint32_t at = fam ? fam->at : 0, end = fam ? at + fam->n : f->ncomms;

		x.are_aligned = fam;
		x.length = fam ? fam->length : 0;
		x.ncomms = 0;
		for (uint32_t c = at; c < end; c++) {
			const struct nsx_fcomm *v = &f->comm[c];

			if ((f->has_stages && nsx_is_of_stages(v)) == x.are_aligned)
				continue;
			x.is_within[x.ncomms] = nsx_count_hosts(f, v) == 1;
			x.comm[x.ncomms++] = c;
			x.length = NSX_MAX(x.length, x.are_aligned ? 0 : v->end - v->first);
		}
		nslow += list_slow(j, &x, i, slow + nslow);
	}
	return link_price(j, slow, nslow, err);
}
