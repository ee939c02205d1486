/* judge_who.c - which ranks hold the others up, and whether that is more than chance.
 *
 * If no rank were special, the ranks of a step could change places (or of a block of steps, if
 * neighbouring steps resemble each other). The greatest sums of excess over many such exchanges
 * show how great a sum can be by chance, for all ranks at once.
 */
#include <math.h>
#include "base/stat.h"
#include "fleet/judge.h"

#define STEADY_SHARE 0.6 /* share of steps in which a steadily late rank is late */
#define STALL_SHARE 0.1 /* share of a step from which a delay is a stall */
#define LEAST_P_OF_STALLS 0.05

enum { EXCHANGES = 499 };

/* Chance ------------------------------------------------------------------------------*/

/* Autocorrelation of a rank's excess at `lag` steps, -1 to 1. Steps that stand out are clipped,
 * because the test itself looks for bursts.
 */
static double resembles(const struct nsx_judge *j, uint32_t rank, size_t lag,
			double *x, double *scratch)
{
	const struct nsx_fleet *f = j->f;
	double middle, most, sum = 0, with = 0;

	for (size_t s = 0; s < f->nsteps; s++)
		scratch[s] = x[s] = j->excess[s * f->nranks + rank];
	most = 3 * NSX_SIGMA * nsx_spread_of(scratch, f->nsteps, &middle);
	for (size_t s = 0; s < f->nsteps; s++) {
		x[s] = NSX_MAX(-most, NSX_MIN(most, x[s] - middle));
		sum += x[s] * x[s];
		with += s < lag ? 0 : x[s] * x[s - lag];
	}
	return sum > 0 ? with / sum : 0;
}

/* Length of blocks: the first lag at which the ranks' median autocorrelation is small. */
static size_t block_of(const struct nsx_judge *j, double *scratch)
{
	const struct nsx_fleet *f = j->f;
	size_t most = f->nsteps / NSX_LEAST_STEPS, lag = 1;
	double *x = nsx_arena_get(j->a, f->nsteps * sizeof(*x));
	double *corr = nsx_arena_get(j->a, f->nranks * sizeof(*corr));

	for (; lag < most; lag++) {
		for (uint32_t r = 0; r < f->nranks; r++)
			corr[r] = resembles(j, r, lag, x, scratch);
		if (nsx_median_of(corr, f->nranks) < 0.2)
			break;
	}
	return NSX_MAX(1, lag);
}

/* Sets each rank's p: how often the greatest sum of an exchange reaches its own. p_early:
 * how often the least sum is no greater than its own.
 */
static void test_ranks(struct nsx_judge *j, size_t block)
{
	const struct nsx_fleet *f = j->f;
	uint32_t n = f->nranks, *order = nsx_arena_get(j->a, n * sizeof(*order));
	size_t nblocks = (f->nsteps + block - 1) / block;
	double *sum = nsx_arena_get(j->a, nblocks * n * sizeof(*sum));
	double *total = nsx_arena_get(j->a, n * sizeof(*total));
	double *mixed = nsx_arena_get(j->a, n * sizeof(*mixed));
	uint64_t state = 1;

	for (size_t s = 0; s < f->nsteps; s++)
		for (uint32_t r = 0; r < n; r++) {
			sum[s / block * n + r] += j->excess[s * n + r];
			total[r] += j->excess[s * n + r];
		}
	for (uint32_t r = 0; r < n; r++) {
		order[r] = r;
		j->p[r] = j->p_early[r] = 1;
	}
	for (unsigned i = 0; i < EXCHANGES; i++) {
		double greatest = -INFINITY, least = INFINITY;

		memset(mixed, 0, n * sizeof(*mixed));
		for (size_t b = 0; b < nblocks; b++)
			for (uint32_t r = n; r-- > 0;) {
				uint32_t k = (uint32_t)(nsx_random(&state) % (r + 1));
				uint32_t who = order[k];

				order[k] = order[r];
				order[r] = who;
				mixed[r] += sum[b * n + who];
			}
		for (uint32_t r = 0; r < n; r++) {
			greatest = NSX_MAX(greatest, mixed[r]);
			least = NSX_MIN(least, mixed[r]);
		}
		for (uint32_t r = 0; r < n; r++) {
			j->p[r] += greatest >= total[r];
			j->p_early[r] += least <= total[r];
		}
	}
	for (uint32_t r = 0; r < n; r++) {
		j->p[r] /= EXCHANGES + 1;
		j->p_early[r] /= EXCHANGES + 1;
	}
}

/* Late ranks --------------------------------------------------------------------------*/

static double excess_of(const struct nsx_judge *j, const struct nsx_late *l, size_t s)
{
	double sum = 0;

	for (uint32_t i = 0; i < l->n; i++)
		sum += j->excess[s * j->f->nranks + l->ranks[i]];
	return sum / l->n;
}

/* A rank's mean excess; *ret: without its most expensive step, because one stall is not a habit. */
static double mean_excess(const struct nsx_judge *j, uint32_t r, double *ret)
{
	const struct nsx_fleet *f = j->f;
	double n = NSX_MAX(1, (double)f->rank[r].nsteps), sum = 0, most = 0;

	for (size_t s = 0; s < f->nsteps; s++) {
		sum += j->excess[s * f->nranks + r];
		most = NSX_MAX(most, j->excess[s * f->nranks + r]);
	}
	*ret = (sum - most) / n;
	return sum / n;
}

/* Whether the rank has the only stalls: at least two, and no other rank was late by half as much in
 * any step. Chance may give two stalls to one rank, but they are visible and have one cause.
 */
static bool stalls_alone(const struct nsx_judge *j, uint32_t rank)
{
	const struct nsx_fleet *f = j->f;
	double shortest = INFINITY, others = 0;
	size_t nstalls = 0;

	for (size_t s = 0; s < f->nsteps; s++)
		for (uint32_t r = 0; r < f->nranks; r++) {
			double x = j->excess[s * f->nranks + r];

			if (r != rank) {
				others = NSX_MAX(others, x);
			} else if (x >= STALL_SHARE * f->step_ns) {
				shortest = NSX_MIN(shortest, x);
				nstalls++;
			}
		}
	return nstalls > 1 && others < shortest / 2;
}

/* Whether the rank is late beyond chance, and not by a single step. */
static bool is_late_rank(const struct nsx_judge *j, uint32_t r)
{
	const struct nsx_fleet *f = j->f;
	double without_most, mean = mean_excess(j, r, &without_most);

	return f->rank[r].nsteps >= NSX_LEAST_STEPS && mean >= NSX_LEAST_SHARE * f->step_ns &&
	       without_most >= NSX_LEAST_SHARE * f->step_ns / 2 &&
	       (j->p[r] < NSX_LEAST_P ||
		(j->p[r] < LEAST_P_OF_STALLS && stalls_alone(j, r)));
}

/* Ranks that are later than others of a late group come first: the group's price is what is left. */
NSX_ORDER(cmp_late, struct nsx_late, DOWN(namong), DOWN(excess_ns), UP(ranks[0]));

struct nsx_late *nsx_add_late(struct nsx_judge *j, const uint32_t *ranks, uint32_t n)
{
	struct nsx_fleet *f = j->f;
	struct nsx_late *l = &f->late[f->nlate++];

	*l = (struct nsx_late){.host = NSX_NONE, .axis = NSX_NONE, .n = n,
			       .p = 0};
	l->ranks = nsx_arena_get(f->arena, n * sizeof(*l->ranks));
	memcpy(l->ranks, ranks, n * sizeof(*ranks));
	for (uint32_t i = 0; i < n; i++) {
		double without_most;

		l->excess_ns += mean_excess(j, ranks[i], &without_most) / n;
		l->p = NSX_MAX(l->p, j->p[ranks[i]]);
	}
	for (size_t s = 0; s < f->nsteps; s++)
		l->nsteps += excess_of(j, l, s) >= NSX_LEAST_SHARE * f->step_ns;
	l->nthere = (int64_t)nsx_fleet_steps_of(f, l->ranks, n);
	l->kind = (double)l->nsteps >= STEADY_SHARE * (double)l->nthere ?
			  NSX_LATE_STEADY : NSX_LATE_TRANSIENT;
	return l;
}

/* The group of a rank: its host, or its place on an axis. */
static int64_t judge_who_group_of(const struct nsx_fleet *f, uint32_t rank, uint32_t axis)
{
	return axis == NSX_NONE ? f->rank[rank].host :
		       nsx_mesh_at(&f->mesh.axis[axis], f->rank[rank].number);
}

/* Turns groups whose ranks are all late into one entry, and takes the ranks out of is_late. */
static void name_groups(struct nsx_judge *j, uint32_t axis, bool *is_late)
{
	struct nsx_fleet *f = j->f;
	uint32_t *v = nsx_arena_get(j->a, f->nranks * sizeof(*v));

	for (uint32_t r = 0; r < f->nranks; r++) {
		uint32_t n = 0, late = 0;
		struct nsx_late *l;

		for (uint32_t i = 0; is_late[r] && i < f->nranks; i++)
			if (judge_who_group_of(f, i, axis) == judge_who_group_of(f, r, axis)) {
				late += is_late[i];
				v[n++] = i;
			}
		if (n < 2 || late < n || n == f->nranks)
			continue;
		l = nsx_add_late(j, v, n);
		l->axis = axis;
		if (axis == NSX_NONE)
			l->host = f->rank[r].host;
		for (uint32_t i = 0; i < n; i++)
			is_late[v[i]] = false;
	}
}

/* Names ranks that are late even if compared with the other ranks of their late group. */
static int name_latest(const struct nsx_judge *all, size_t block, double *scratch,
		       struct nsx_err *err)
{
	struct nsx_fleet *f = all->f;
	struct nsx_judge j = *all;
	size_t ngroups = f->nlate;

	j.p = nsx_arena_get(j.a, f->nranks * sizeof(*j.p));
	j.p_early = nsx_arena_get(j.a, f->nranks * sizeof(*j.p_early));
	if (!nsx_new_array(j.excess, j.a, f->nsteps * f->nranks, "steps of ranks", err))
		return err->rc;
	for (size_t i = 0; i < ngroups; i++)
		for (size_t s = 0; s < f->nsteps; s++) {
			const double *own = &f->own_ns[s * f->nranks];
			const uint32_t *ranks = f->late[i].ranks;
			uint32_t n = 0;
			double median;

			for (uint32_t k = 0; k < f->late[i].n; k++)
				if (!isnan(own[ranks[k]]))
					scratch[n++] = own[ranks[k]];
			median = nsx_median_of(scratch, n);
			for (uint32_t k = 0; k < f->late[i].n; k++)
				if (!isnan(own[ranks[k]]))
					j.excess[s * f->nranks + ranks[k]] = own[ranks[k]] - median;
		}
	test_ranks(&j, block);
	for (size_t i = 0; i < ngroups; i++)
		for (uint32_t k = 0; k < f->late[i].n && f->late[i].n > 2; k++)
			if (is_late_rank(&j, f->late[i].ranks[k])) {
				struct nsx_late *l = nsx_add_late(&j, &f->late[i].ranks[k], 1);

				l->among = f->late[i].ranks;
				l->namong = f->late[i].n;
			}
	return 0;
}

/* Whether most ranks of this rank's stage are early, too: stages do different work. */
static bool is_of_early_stage(const struct nsx_fleet *f, uint32_t rank, const bool *is_late)
{
	uint32_t n = 0, nlate = 0;

	for (uint32_t r = 0; r < f->nranks; r++)
		if (f->stage[r] == f->stage[rank]) {
			nlate += is_late[r];
			n++;
		}
	return f->has_stages && 2 * nlate < n;
}

/* Names the majority as late. If most ranks are late, the median is late too and nobody exceeds it;
 * instead each of the few others must be early beyond chance.
 */
static void name_most(struct nsx_judge *j, bool *is_late, double *scratch)
{
	struct nsx_fleet *f = j->f;
	uint32_t *v = nsx_arena_get(j->a, f->nranks * sizeof(*v)), n = 0;
	double p = 0, all = 0;
	struct nsx_late *l;
	size_t there = 0, nearly = 0;

	for (uint32_t r = 0; r < f->nranks; r++) {
		is_late[r] = j->p_early[r] >= NSX_LEAST_P ||
			     f->rank[r].nsteps < NSX_LEAST_STEPS ||
			     f->rank[r].excess_ns > -NSX_LEAST_SHARE * f->step_ns;
		if (is_late[r])
			v[n++] = r;
		else
			p = NSX_MAX(p, j->p_early[r]);
	}
	for (uint32_t r = 0; r < f->nranks; r++)
		nearly += !is_late[r] && !is_of_early_stage(f, r, is_late);
	if (!nearly || 2 * n <= f->nranks)
		return;
	l = nsx_add_late(j, v, n);
	l->are_most = true;
	l->p = p;
	l->nsteps = 0;
	for (size_t s = 0; s < f->nsteps; s++) { /* mean of the late ranks above the others' median */
		size_t nothers = nsx_own_of(f, s, is_late, scratch);
		double sum = 0, over;

		for (uint32_t i = 0; i < n; i++)
			sum += f->own_ns[s * f->nranks + v[i]];
		over = sum / n - nsx_median_of(scratch, nothers);
		if (!nothers || isnan(over))
			continue;
		there++;
		all += over;
		l->nsteps += over >= NSX_LEAST_SHARE * f->step_ns;
	}
	l->excess_ns = there ? all / (double)there : 0;
	if ((double)l->nsteps < STEADY_SHARE * (double)l->nthere)
		f->nlate--;
	l->kind = NSX_LATE_STEADY;
}

int nsx_name_late(struct nsx_judge *j, double *scratch, struct nsx_err *err)
{
	struct nsx_fleet *f = j->f;
	uint32_t n = f->nranks;
	bool *is_late = nsx_arena_get(j->a, n * sizeof(*is_late));
	size_t block = block_of(j, scratch);

	if (!nsx_new_array(f->late, f->arena, n + f->ncomms, "late ranks", err))
		return err->rc;
	test_ranks(j, block);
	for (uint32_t r = 0; r < n; r++)
		is_late[r] = is_late_rank(j, r);
	name_groups(j, NSX_NONE, is_late);
	for (uint32_t i = f->mesh.n; i--;)
		name_groups(j, i, is_late);
	if (f->nlate && name_latest(j, block, scratch, err))
		return err->rc;
	for (uint32_t r = 0; r < n; r++)
		if (is_late[r])
			nsx_add_late(j, &r, 1);
	if (!f->nlate)
		name_most(j, is_late, scratch);
	nsx_sort(f->late, f->nlate, sizeof(*f->late), cmp_late);
	return 0;
}
