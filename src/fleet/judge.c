/* judge.c - each rank's excess over the others, and which excess becomes a verdict.
 *
 * The unit is the step. Collectives of a step are late together, so counting each of them would
 * accuse some rank in every job. A rank's excess is its own time in a step minus the median of the
 * other ranks.
 */
#include <math.h>
#include "base/stat.h"
#include "fleet/judge.h"

/* a rank stands out in a step if it is at least this many median deviations from the ranks'
 * median
 */
#define STANDS_OUT 5

enum { FEW = 4 }; /* a spread is known only of at least this many ranks */

/* Median of sorted v without one value x that is in it; x if v has no other. */
static double median_without(const double *v, size_t n, double x)
{
	size_t lo = 0, hi = n - 1, a = (n - 2) / 2, b = (n - 1) / 2;

	if (n < 2)
		return x;
	NSX_BISECT(lo, hi, mid, v[mid] < x);
	return (v[a + (a >= lo)] + v[b + (b >= lo)]) / 2;
}

static void find_excess(struct nsx_judge *j, double *scratch)
{
	struct nsx_fleet *f = j->f;

	for (size_t s = 0; s < f->nsteps; s++) {
		const double *own = &f->own_ns[s * f->nranks];
		size_t n = nsx_own_of(f, s, NULL, scratch);
		double median = nsx_median_of(scratch, n); /* the call sorts scratch */

		f->uneven_ns += n ? (scratch[n - 1] - median) / (double)f->nsteps : 0;
		for (uint32_t r = 0; r < f->nranks; r++) {
			double over;

			if (isnan(own[r]))
				continue;
			over = own[r] - median_without(scratch, n, own[r]);
			j->excess[s * f->nranks + r] = over;
			f->rank[r].own_ns += own[r];
			f->rank[r].nsteps++;
		}
		for (uint32_t r = 0; r < f->nranks; r++)
			f->rank[r].excess_ns += j->excess[s * f->nranks + r];
	}
	for (uint32_t r = 0; r < f->nranks; r++) {
		double n = NSX_MAX(1, (double)f->rank[r].nsteps);

		f->rank[r].own_ns /= n;
		f->rank[r].excess_ns /= n;
	}
}

/* Warns of ranks recorded in less than nine tenths of the steps. */
static void warn_of_short(struct nsx_fleet *f)
{
	const struct nsx_frank *first = NULL;
	uint32_t n = 0;

	for (uint32_t r = 0; r < f->nranks; r++)
		if (f->rank[r].nsteps * 10 < (int64_t)f->nsteps * 9) {
			first = first ? first : &f->rank[r];
			n++;
		}
	if (n == 1)
		nsx_fleet_warn(f, "rank %lld could be compared in %lld of %zu "
			       "steps only", (long long)first->number,
			       (long long)first->nsteps, f->nsteps);
	else if (n)
		nsx_fleet_warn(f, "%u ranks, the first is rank %lld, were compared in fewer than "
			       "nine tenths of the steps: ranks.csv has how many", n,
			       (long long)first->number);
}

/* Steps in which one rank stood out ------------------------------------------------------*/

/* Spread for few ranks. Half of them may be late in a step, so their spread over ranks is no
 * measure; the variation of the fastest rank over the steps is used.
 */
static double spread_of_few(const struct nsx_fleet *f, double *scratch)
{
	size_t n = 0;
	double middle;

	for (size_t s = 0; s < f->nsteps; s++) {
		double least = INFINITY;

		for (uint32_t r = 0; r < f->nranks; r++)
			if (f->own_ns[s * f->nranks + r] < least)
				least = f->own_ns[s * f->nranks + r];
		if (!isinf(least))
			scratch[n++] = least;
	}
	return NSX_SIGMA * nsx_spread_of(scratch, n, &middle);
}

/* Counts steps in which one rank stood out. Ranks named as late are left out; with `all`,
 * only those that are steadily late.
 */
static void find_events(struct nsx_judge *j, bool all, double *scratch)
{
	struct nsx_fleet *f = j->f;
	uint32_t n = f->nranks, nwho = 0;
	int64_t *times = nsx_arena_get(j->a, n * sizeof(*times)), most = 0;
	bool *is_late = nsx_arena_get(j->a, n * sizeof(*is_late));
	double of_few = spread_of_few(f, scratch);

	f->jitter_ns = 0;
	f->nevents = 0;
	for (size_t i = 0; i < f->nlate; i++)
		for (uint32_t k = 0; k < f->late[i].n; k++)
			is_late[f->late[i].ranks[k]] = !all || f->late[i].kind == NSX_LATE_STEADY;
	for (size_t s = 0; s < f->nsteps; s++) {
		const double *x = &j->excess[s * n];
		double first = -INFINITY, second = -INFINITY, spread;
		uint32_t who = 0;
		size_t k = 0;

		for (uint32_t r = 0; r < n; r++) {
			if (isnan(f->own_ns[s * n + r]) || is_late[r])
				continue;
			scratch[k++] = fabs(x[r]);
			if (x[r] > first) {
				second = first;
				first = x[r];
				who = r;
			} else {
				second = NSX_MAX(second, x[r]);
			}
		}
		spread = k < FEW ? of_few : NSX_SIGMA * nsx_median_of(scratch, k);
		if (k < 2 || first < 0)
			continue;
		f->jitter_ns += (first - NSX_MAX(0, second)) / (double)f->nsteps;
		if (first < NSX_LEAST_SHARE * f->step_ns ||
		    first < STANDS_OUT * spread || first < 2 * second)
			continue;
		f->nevents++;
		nwho += !times[who]++;
		most = NSX_MAX(most, times[who]);
	}
	/* with few ranks, one of them leads more often by chance alone */
	f->is_rotating = f->nsteps >= NSX_LEAST_STEPS && nwho >= NSX_MIN(3, n) &&
			 f->nevents * 2 >= (int64_t)f->nsteps &&
			 (double)most <= NSX_MAX(1 / 2.0, 1 / 3.0 + 1.0 / n) * (double)f->nevents;
}

/* Keeps late entries for which holds() is true; returns whether all were kept. */
static bool keep_late(struct nsx_fleet *f, bool (*holds)(const struct nsx_late *l))
{
	size_t kept = 0, all = f->nlate;

	for (size_t i = 0; i < all; i++)
		if (holds(&f->late[i]))
			f->late[kept++] = f->late[i];
	f->nlate = kept;
	return kept == all;
}

static bool is_steady(const struct nsx_late *l)
{
	return l->kind == NSX_LATE_STEADY;
}

bool nsx_has_unknown_pairs(const struct nsx_fleet *f)
{
	size_t all = 0, unknown = 0;

	for (size_t i = 0; i < f->ncomms; i++) {
		const struct nsx_fcomm *c = &f->comm[i];

		for (uint32_t m = 0; m < c->n; m++) {
			size_t n = nsx_is_of_pairs(c->m[m].c) ? c->m[m].c->n : 0;

			all += n;
			unknown += nsx_is_of_unknown_pairs(c) ? n : 0;
		}
	}
	return unknown * 10 > all;
}

/* Whether an entry's ranks can hold others up. If they are most ranks, they do so only by waiting,
 * which the few others do not do; a rank with less to compute holds nobody up.
 */
static bool is_few_or_waits(const struct nsx_late *l)
{
	return !l->are_most || l->cause == NSX_WHY_IDLE || l->cause == NSX_WHY_COPY;
}

/* Whether a rank computes longer. Only that counts if it is unknown who waits for whom: the others
 * may have worked while it was idle.
 */
static bool computes_longer(const struct nsx_late *l)
{
	return l->cause >= NSX_WHY_SLOWER && l->cause <= NSX_WHY_MORE;
}

/* Keeps late entries whose cause can hold others up. */
static void keep_by_cause(struct nsx_fleet *f)
{
	if (!keep_late(f, is_few_or_waits))
		f->all_recoverable_ns = 0;
	if (f->by_totals && nsx_has_unknown_pairs(f) && !keep_late(f, computes_longer))
		f->all_recoverable_ns = f->nlate ? f->late[0].recoverable_ns : 0;
}

/* Finds the suspect if no rank is named: the rank with the greatest excess, and why that is no
 * verdict. Few ranks or steps prove little, and a proven excess may cost nobody anything.
 */
static void find_suspect(const struct nsx_judge *j)
{
	struct nsx_fleet *f = j->f;
	struct nsx_suspect *x = &f->suspect;

	for (uint32_t r = 0; r < f->nranks; r++)
		if (f->rank[r].excess_ns > x->excess_ns) {
			x->excess_ns = f->rank[r].excess_ns;
			x->rank = r;
			x->p = j->p[r];
		}
	for (size_t s = 0; s < f->nsteps; s++)
		x->nsteps += j->excess[s * f->nranks + x->rank] >= NSX_LEAST_SHARE * f->step_ns;
	x->why = f->rank[x->rank].nsteps < NSX_LEAST_STEPS ? NSX_FEW_STEPS :
		 x->p >= NSX_LEAST_P ? NSX_NOT_PROVEN :
		 nsx_has_unknown_pairs(f) ? NSX_PAIRS_UNKNOWN :
		 nsx_has_unknown_clocks(f) ? NSX_ORDER_UNKNOWN :
		 x->saves_ns > NSX_LEAST_SHARE / 4 * f->step_ns &&
		 NSX_ANY(i, f->ncomms, nsx_is_of_stages(&f->comm[i])) ?
			 NSX_STAGES_OVERLAP : NSX_NOT_WAITED_FOR;
	if (f->nlate || f->is_rotating || x->nsteps < 2 ||
	    x->excess_ns < NSX_LEAST_SHARE * f->step_ns)
		x->nsteps = 0;
}

NSX_ORDER(cmp_price, struct nsx_late, DOWN(recoverable_ns), UP(ranks[0]));

int nsx_fleet_judge(struct nsx_fleet *f, struct nsx_err *err)
{
	struct nsx_judge j = {.f = f, .a = nsx_arena_new()};
	double *scratch = nsx_arena_get(j.a, (f->nranks + f->nsteps + 1) * sizeof(*scratch));
	int rc = 0;

	j.p = nsx_arena_get(j.a, f->nranks * sizeof(*j.p));
	j.p_early = nsx_arena_get(j.a, f->nranks * sizeof(*j.p_early));
	if (!nsx_new_array(j.excess, j.a, f->nsteps * f->nranks, "steps of ranks", err))
		rc = err->rc;
	if (!rc && f->nsteps) {
		find_excess(&j, scratch);
		warn_of_short(f);
		rc = nsx_name_late(&j, scratch, err);
		find_events(&j, true, scratch);
		if (f->is_rotating) /* another rank is late in most steps */
			(void)keep_late(f, is_steady);
		rc = rc ?: nsx_price_late(&j, scratch, err);
		for (size_t i = 0; i < f->nlate && !rc; i++)
			nsx_explain_late(&j, &f->late[i], scratch);
		keep_by_cause(f);
		rc = rc ?: nsx_price_links(&j, err);
		find_events(&j, false, scratch);
		find_suspect(&j);
		nsx_sort(f->late, f->nlate, sizeof(*f->late), cmp_price);
	}
	nsx_arena_free(j.a);
	return rc;
}
