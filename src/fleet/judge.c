/* judge.c - who holds the others up, whether that is more than chance, and why.
 *
 * The unit is the step: collectives of a step are late together, so that
 * counting them one by one would accuse somebody in every job.  A rank's excess
 * is its own time of a step over the median of the other ranks.  Under the
 * hypothesis that nobody is special the ranks of a step (of a block of steps,
 * where steps resemble each other) can change places: the greatest sum of
 * excesses over many such exchanges says how great one is by chance, for all
 * ranks at once.
 */
#include <math.h>
#include <string.h>
#include "base/group.h"
#include "base/stat.h"
#include "fleet/fleet.h"

#define LEAST_P 0.01
#define LEAST_SHARE 0.01   /* of a step                                       */
#define LEAST_ADDED 0.005  /* of a step, over what the dearer ones cost       */
#define EXPLAINS 0.8	   /* of the excess                                   */
#define MORE_COPIED 0.1	   /* of what the others copy                         */
#define MOST_ALIKE 0.75	   /* of the kernels' time: memory has its own clock  */
#define STEADY_SHARE 0.6   /* of the steps                                    */
#define STANDS_OUT 5	   /* median deviations of the step's ranks           */

enum { EXCHANGES = 499, LEAST_STEPS = 10, MOST_LATE = 8, FEW = 4,
       MOST_HOPS = 8 };

struct judge {
	struct nsx_fleet *f;
	double *excess; /* by step, rank; 0 where it was not there            */
	double *p;	/* by rank                                            */
	double *p_early; /* the same of as little as it took                  */
	struct nsx_arena *a;
};

/* The median of v without one x, which is in it; v is sorted. Alone: x. */
static double median_without(const double *v, size_t n, double x)
{
	size_t lo = 0, hi = n - 1, a = (n - 2) / 2, b = (n - 1) / 2;

	if (n < 2)
		return x;
	NSX_BISECT(lo, hi, mid, v[mid] < x);
	return (v[a + (a >= lo)] + v[b + (b >= lo)]) / 2;
}

static void find_excess(struct judge *j, double *scratch)
{
	struct nsx_fleet *f = j->f;

	for (size_t s = 0; s < f->nsteps; s++) {
		const double *own = &f->own_ns[s * f->nranks];
		size_t n = 0;

		for (uint32_t r = 0; r < f->nranks; r++)
			if (!isnan(own[r]))
				scratch[n++] = own[r];
		if (n)
			f->uneven_ns -= nsx_median_of(scratch, n) /* sorts */ /
					(double)f->nsteps;
		if (n)
			f->uneven_ns += scratch[n - 1] / (double)f->nsteps;
		for (uint32_t r = 0; r < f->nranks; r++) {
			double over;

			if (isnan(own[r]))
				continue;
			over = own[r] - median_without(scratch, n, own[r]);
			j->excess[s * f->nranks + r] = over;
			f->rank[r].own_ns += own[r];
			f->rank[r].excess_ns += over;
			f->rank[r].nsteps++;
		}
	}
	for (uint32_t r = 0; r < f->nranks; r++) {
		double n = NSX_MAX(1, (double)f->rank[r].nsteps);

		f->rank[r].own_ns /= n;
		f->rank[r].excess_ns /= n;
	}
}

/* Who was not recorded for nine tenths of the steps is compared in fewer. */
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
		nsx_fleet_warn(f, "rank %lld was recorded in %lld of %zu steps "
			       "only", (long long)first->number,
			       (long long)first->nsteps, f->nsteps);
	else if (n)
		nsx_fleet_warn(f, "%u ranks, the first is rank %lld, were "
			       "recorded in fewer than nine tenths of the "
			       "steps: ranks.csv has how many", n,
			       (long long)first->number);
}

/* Chance ------------------------------------------------------------------------------*/

static uint64_t next_random(uint64_t *state)
{
	return nsx_hash_u64(*state += UINT64_C(0x9e3779b97f4a7c15));
}

/* How much a rank's excess resembles itself `lag` steps before, -1 to 1. Steps that
 * stand out are cut: a burst is what is looked for, not what it is measured
 * against.
 */
static double resembles(const struct judge *j, uint32_t rank, size_t lag,
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

/* The first lag at which excess no longer resembles itself, the median of the
 * ranks.
 */
static size_t block_of(const struct judge *j, double *scratch)
{
	const struct nsx_fleet *f = j->f;
	size_t most = f->nsteps / LEAST_STEPS, lag = 1;
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

/* p of each rank: how often the greatest sum of an exchange is at least its, and
 * how often the least is at most that.
 */
static void test_ranks(struct judge *j, size_t block)
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
				uint32_t k = (uint32_t)(next_random(&state) %
							(r + 1));
				uint32_t who = order[k];

				order[k] = order[r];
				order[r] = who;
				mixed[r] += sum[b * n + who];
			}
		for (uint32_t r = 0; r < n; r++)
			greatest = NSX_MAX(greatest, mixed[r]);
		for (uint32_t r = 0; r < n; r++)
			least = NSX_MIN(least, mixed[r]);
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

/* Who ---------------------------------------------------------------------------------*/

static double excess_of(const struct judge *j, const struct nsx_late *l,
			size_t s)
{
	double sum = 0;

	for (uint32_t i = 0; i < l->n; i++)
		sum += j->excess[s * j->f->nranks + l->ranks[i]];
	return sum / l->n;
}

/* What is left of a rank's mean excess without its dearest step: one stall is
 * no habit.
 */
static double without_dearest(const struct judge *j, uint32_t r)
{
	const struct nsx_fleet *f = j->f;
	double dearest = 0;

	for (size_t s = 0; s < f->nsteps; s++)
		dearest = NSX_MAX(dearest, j->excess[s * f->nranks + r]);
	return f->rank[r].excess_ns -
	       dearest / NSX_MAX(1, (double)f->rank[r].nsteps);
}

NSX_ORDER(cmp_late, struct nsx_late, DOWN(excess_ns), UP(ranks[0]));

static struct nsx_late *add_late(struct judge *j, const uint32_t *ranks,
				 uint32_t n)
{
	struct nsx_fleet *f = j->f;
	struct nsx_late *l = &f->late[f->nlate++];

	*l = (struct nsx_late){.host = NSX_NONE, .axis = NSX_NONE, .n = n,
			       .p = 0};
	l->ranks = nsx_arena_get(f->arena, n * sizeof(*l->ranks));
	memcpy(l->ranks, ranks, n * sizeof(*ranks));
	for (uint32_t i = 0; i < n; i++) {
		l->excess_ns += f->rank[ranks[i]].excess_ns / n;
		l->p = NSX_MAX(l->p, j->p[ranks[i]]);
	}
	for (size_t s = 0; s < f->nsteps; s++)
		l->nsteps += excess_of(j, l, s) >= LEAST_SHARE * f->step_ns;
	l->nthere = (int64_t)nsx_fleet_steps_of(f, l->ranks, n);
	l->kind = (double)l->nsteps >= STEADY_SHARE * (double)l->nthere ?
			  NSX_LATE_STEADY : NSX_LATE_TRANSIENT;
	return l;
}

/* Which group of ranks one belongs to: its host, or its place on an axis. */
static int64_t group_of(const struct nsx_fleet *f, uint32_t rank, uint32_t axis)
{
	return axis == NSX_NONE ? f->rank[rank].host :
		       nsx_mesh_at(&f->mesh.axis[axis], f->rank[rank].number);
}

/* Where all ranks of a group are late they are one, and none of them any more. */
static void name_groups(struct judge *j, uint32_t axis, bool *is_late)
{
	struct nsx_fleet *f = j->f;
	uint32_t *v = nsx_arena_get(j->a, f->nranks * sizeof(*v));

	for (uint32_t r = 0; r < f->nranks; r++) {
		uint32_t n = 0, late = 0;
		struct nsx_late *l;

		for (uint32_t i = 0; is_late[r] && i < f->nranks; i++)
			if (group_of(f, i, axis) == group_of(f, r, axis)) {
				late += is_late[i];
				v[n++] = i;
			}
		if (n < 2 || late < n || n == f->nranks)
			continue;
		l = add_late(j, v, n);
		l->axis = axis;
		if (axis == NSX_NONE)
			l->host = f->rank[r].host;
		for (uint32_t i = 0; i < n; i++)
			is_late[v[i]] = false;
	}
}

/* What the ranks of a group take over the median of the others in a step; NAN:
 * not all are there, or none of the others is.
 */
static double over_others(const struct nsx_fleet *f, const struct nsx_late *l,
			  const bool *is_in, size_t s, double *scratch)
{
	const double *own = &f->own_ns[s * f->nranks];
	double sum = 0;
	size_t n = 0;

	for (uint32_t r = 0; r < f->nranks; r++)
		if (is_in[r])
			sum += own[r];
		else if (!isnan(own[r]))
			scratch[n++] = own[r];
	return n ? sum / l->n - nsx_median_of(scratch, n) : NAN;
}

/* Where most ranks are late their median is, so that nobody takes more than the others:
 * the few that are not are early, each more than by chance, and the rest are a
 * group.
 */
static void name_most(struct judge *j, bool *is_late, double *scratch)
{
	struct nsx_fleet *f = j->f;
	uint32_t *v = nsx_arena_get(j->a, f->nranks * sizeof(*v)), n = 0;
	double sum = 0, p = 0;
	struct nsx_late *l;
	size_t there = 0;

	for (uint32_t r = 0; r < f->nranks; r++) {
		is_late[r] = j->p_early[r] >= LEAST_P ||
			     f->rank[r].nsteps < LEAST_STEPS ||
			     f->rank[r].excess_ns > -LEAST_SHARE * f->step_ns;
		p = is_late[r] ? p : NSX_MAX(p, j->p_early[r]);
		if (is_late[r])
			v[n++] = r;
	}
	if (n == f->nranks || 2 * n <= f->nranks)
		return;
	l = add_late(j, v, n);
	l->are_most = true;
	l->p = p;
	l->nsteps = 0;
	for (size_t s = 0; s < f->nsteps; s++) {
		double over = over_others(f, l, is_late, s, scratch);

		if (isnan(over))
			continue;
		there++;
		sum += over;
		l->nsteps += over >= LEAST_SHARE * f->step_ns;
	}
	l->excess_ns = there ? sum / (double)there : 0;
	if ((double)l->nsteps < STEADY_SHARE * (double)l->nthere)
		f->nlate--;
	l->kind = NSX_LATE_STEADY;
}

/* Ranks that pass the test; all of a host, or of a place on an axis, that do are
 * one.
 */
static int name_late(struct judge *j, double *scratch, struct nsx_err *err)
{
	struct nsx_fleet *f = j->f;
	uint32_t n = f->nranks;
	bool *is_late = nsx_arena_get(j->a, n * sizeof(*is_late));

	if (!nsx_new_array(f->late, f->arena, n + f->nlinks, "late ranks", err))
		return err->rc;
	for (uint32_t r = 0; r < n; r++)
		is_late[r] = j->p[r] < LEAST_P &&
			     f->rank[r].nsteps >= LEAST_STEPS &&
			     f->rank[r].excess_ns >= LEAST_SHARE * f->step_ns &&
			     without_dearest(j, r) >=
				     LEAST_SHARE * f->step_ns / 2;
	name_groups(j, NSX_NONE, is_late);
	for (uint32_t i = f->mesh.n; i--;)
		name_groups(j, i, is_late);
	for (uint32_t r = 0; r < n; r++)
		if (is_late[r])
			add_late(j, &r, 1);
	if (!f->nlate)
		name_most(j, is_late, scratch);
	nsx_sort(f->late, f->nlate, sizeof(*f->late), cmp_late);
	return 0;
}

/* Why ----------------------------------------------------------------------------------*/

/* What is compared of an iteration. */
enum { Q_OWN, Q_COMPUTE, Q_COPY, Q_IDLE, Q_KERNELS, Q_CAUSE,
       NQUANTITIES = Q_CAUSE + NSX_NCAUSES };

static double quantity(const struct nsx_dstep *s, unsigned q)
{
	switch (q) {
	case Q_OWN:
		return (double)(s->wall_ns - s->part_ns[NSX_P_COMM_EXPOSED] -
				s->mpi_ns);
	case Q_COMPUTE:
		return (double)nsx_computing_ns(s->part_ns);
	case Q_COPY:
		return (double)s->part_ns[NSX_P_COPY_EXPOSED];
	case Q_IDLE:
		return (double)(s->part_ns[NSX_P_IDLE] - s->mpi_ns);
	case Q_KERNELS:
		return (double)s->kernels;
	default:
		return (double)s->cause_ns[q - Q_CAUSE];
	}
}

static bool is_one_of(const struct nsx_late *l, uint32_t rank)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->ranks[i] == rank)
			return true;
	return false;
}

/* Means over the steps: of the late ranks over the median of the others, and
 * that median.
 */
static bool compare(const struct judge *j, const struct nsx_late *l,
		    double *over, double *usual, double *scratch)
{
	const struct nsx_fleet *f = j->f;
	size_t nsteps = 0;

	memset(over, 0, NQUANTITIES * sizeof(*over));
	memset(usual, 0, NQUANTITIES * sizeof(*usual));
	for (size_t s = 0; s < f->nsteps; s++) {
		struct nsx_dstep *const *part = &f->part[s * f->nranks];
		uint32_t there = 0;

		for (uint32_t i = 0; i < l->n; i++)
			there += part[l->ranks[i]] != NULL;
		if (there < l->n)
			continue;
		for (unsigned q = 0; q < NQUANTITIES; q++) {
			double sum = 0, median;
			size_t n = 0;

			for (uint32_t r = 0; r < f->nranks; r++)
				if (part[r] && !is_one_of(l, r))
					scratch[n++] = quantity(part[r], q);
			if (!n)
				return false;
			median = nsx_median_of(scratch, n);
			for (uint32_t i = 0; i < l->n; i++)
				sum += quantity(part[l->ranks[i]], q) - median;
			over[q] += sum / l->n;
			usual[q] += median;
		}
		nsteps++;
	}
	for (unsigned q = 0; nsteps && q < NQUANTITIES; q++) {
		over[q] /= (double)nsteps;
		usual[q] /= (double)nsteps;
	}
	return nsteps > 0;
}

static const struct nsx_dfamily *find_family(const struct nsx_digest *d,
					     const char *name)
{
	for (size_t i = 0; i < d->nfamilies; i++)
		if (!strcmp(d->families[i].name, name))
			return &d->families[i];
	return NULL;
}

/* The late ranks' kernels against the others', family by family.  Returns the
 * ratio of all; *ret_alike: how much of their time shares it.
 */
static double kernel_ratio(const struct judge *j, const struct nsx_late *l,
			   double *scratch, double *ret_alike)
{
	const struct nsx_fleet *f = j->f;
	const struct nsx_digest *d = f->rank[l->ranks[0]].d;
	size_t n = NSX_MIN(d->nfamilies, 32);
	double now = 0, usual = 0, sharing = 0;
	double ratio[32] = {0}, weight[32] = {0};

	for (size_t i = 0; i < n; i++) {
		const struct nsx_dfamily *x = &d->families[i];
		double mean = 0, median;
		size_t k = 0, own = 0;

		for (uint32_t r = 0; r < f->nranks; r++) {
			const struct nsx_dfamily *y = find_family(f->rank[r].d,
								  x->name);

			if (!y || !y->count)
				continue;
			if (is_one_of(l, r)) {
				mean += (double)y->total_ns / (double)y->count;
				own++;
			} else {
				scratch[k++] = (double)y->total_ns /
					       (double)y->count;
			}
		}
		median = nsx_median_of(scratch, k);
		weight[i] = 0;
		if (!k || !own || median <= 0)
			continue;
		mean /= (double)own;
		ratio[i] = mean / median;
		weight[i] = median * (double)x->count;
		now += mean * (double)x->count;
		usual += weight[i];
	}
	if (usual <= 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (weight[i] > 0 && ratio[i] - 1 >= (now / usual - 1) / 2)
			sharing += weight[i];
	*ret_alike = sharing / usual;
	return now / usual;
}

/* Where the idle time of a cause went: the call or range that explains it. */
static const char *idle_detail(const struct judge *j, const struct nsx_late *l,
			       unsigned cause, double excess_ns)
{
	const struct nsx_digest *d = j->f->rank[l->ranks[0]].d;
	double nsteps = NSX_MAX(1, (double)d->nsteps);

	for (size_t i = 0; i < d->nidle; i++)
		if (d->idle[i].cause == cause && *d->idle[i].detail &&
		    (double)d->idle[i].ns / nsteps >= EXPLAINS * excess_ns)
			return d->idle[i].detail;
	return NULL;
}

/* What of a rank's time its report says that a finding is worth. */
static double told_of(const struct nsx_digest *d, const char *key)
{
	for (size_t i = 0; i < d->nfindings; i++)
		if (!strcmp(d->findings[i].key, key))
			return (double)NSX_MAX(0, d->findings[i].share_ppm) * 1e-6;
	return 0;
}

/* The finding of the late rank's report that is worth most over what it is worth to
 * the median of the others, if that explains its excess.
 */
static const struct nsx_dfinding *find_told(const struct judge *j,
					    const struct nsx_late *l,
					    double *scratch)
{
	const struct nsx_fleet *f = j->f;
	const struct nsx_digest *d = f->rank[l->ranks[0]].d;
	const struct nsx_dfinding *best = NULL;
	double most = EXPLAINS * l->excess_ns / f->step_ns;

	for (size_t i = 0; i < d->nfindings; i++) {
		double over = told_of(d, d->findings[i].key);
		size_t n = 0;

		for (uint32_t r = 0; r < f->nranks && over >= most; r++)
			if (!is_one_of(l, r))
				scratch[n++] = told_of(f->rank[r].d,
						       d->findings[i].key);
		over -= nsx_median_of(scratch, n);
		if (over < most)
			continue;
		most = over;
		best = &d->findings[i];
	}
	return best;
}

static void explain_idle(const struct judge *j, struct nsx_late *l,
			 const double *over)
{
	unsigned most = 0;

	l->cause = NSX_WHY_IDLE;
	l->explained = over[Q_IDLE] / over[Q_OWN];
	for (unsigned c = 1; c < NSX_NCAUSES; c++)
		if (over[Q_CAUSE + c] > over[Q_CAUSE + most])
			most = c;
	if (over[Q_CAUSE + most] < EXPLAINS * over[Q_OWN])
		return;
	l->explained = over[Q_CAUSE + most] / over[Q_OWN];
	l->idle_cause = most;
	l->detail = idle_detail(j, l, most, over[Q_CAUSE + most]);
}

static double bytes_of_step(const struct nsx_digest *d)
{
	return (double)d->copied_bytes / NSX_MAX(1, (double)d->nsteps);
}

static double bandwidth_of(const struct nsx_digest *d)
{
	return d->copy_ns > 0 ? (double)d->copied_bytes / (double)d->copy_ns : 0;
}

/* Whether more is copied, or the same slower. */
static void explain_copies(const struct judge *j, struct nsx_late *l,
			   double *scratch)
{
	double mine[2] = {0}, usual[2];

	for (unsigned i = 0; i < 2; i++) {
		size_t n = 0;

		for (uint32_t r = 0; r < j->f->nranks; r++) {
			const struct nsx_digest *d = j->f->rank[r].d;
			double x = i ? bandwidth_of(d) : bytes_of_step(d);

			if (is_one_of(l, r))
				mine[i] += x / l->n;
			else
				scratch[n++] = x;
		}
		usual[i] = nsx_median_of(scratch, n);
	}
	l->more_bytes = mine[0] - usual[0];
	if (l->more_bytes < MORE_COPIED * usual[0])
		l->more_bytes = 0;
	l->gbps[0] = mine[1];
	l->gbps[1] = usual[1];
}

static void explain(const struct judge *j, struct nsx_late *l, double *scratch)
{
	double over[NQUANTITIES], usual[NQUANTITIES];

	l->cause = NSX_WHY_UNKNOWN;
	l->idle_cause = NSX_NCAUSES;
	if (!compare(j, l, over, usual, scratch) || over[Q_OWN] <= 0)
		return;
	if (over[Q_COMPUTE] >= EXPLAINS * over[Q_OWN]) {
		l->explained = over[Q_COMPUTE] / over[Q_OWN];
		l->more = over[Q_KERNELS];
		l->ratio = kernel_ratio(j, l, scratch, &l->alike);
		l->cause = over[Q_KERNELS] >=
				NSX_MAX(0.5, 0.01 * usual[Q_KERNELS]) ?
				NSX_WHY_MORE :
			   l->alike >= MOST_ALIKE ? NSX_WHY_SLOWER : NSX_WHY_KERNELS;
	} else if (over[Q_COPY] >= EXPLAINS * over[Q_OWN]) {
		l->explained = over[Q_COPY] / over[Q_OWN];
		l->cause = NSX_WHY_COPY;
		explain_copies(j, l, scratch);
	} else if (over[Q_IDLE] >= EXPLAINS * over[Q_OWN]) {
		explain_idle(j, l, over);
	}
	if (l->cause == NSX_WHY_IDLE || l->cause == NSX_WHY_COPY ||
	    l->cause == NSX_WHY_UNKNOWN)
		l->told = find_told(j, l, scratch);
}

/* Steps in which one rank stood out ------------------------------------------------------*/

/* Of few ranks half may be late in a step, so that their spread says nothing: how
 * much the fastest rank's own time varies over the steps does.
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

/* Who is named as late is left out; where `all` is set, only who always is. */
static void find_events(struct judge *j, bool all, double *scratch)
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
			is_late[f->late[i].ranks[k]] =
				!all || f->late[i].kind == NSX_LATE_STEADY;
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
		f->jitter_ns += (first - NSX_MAX(0, second)) /
				(double)f->nsteps;
		if (first < LEAST_SHARE * f->step_ns ||
		    first < STANDS_OUT * spread || first < 2 * second)
			continue;
		f->nevents++;
		nwho += !times[who]++;
		most = NSX_MAX(most, times[who]);
	}
	/* Of few ranks one is it more often by chance alone. */
	f->is_rotating = f->nsteps >= LEAST_STEPS && nwho >= NSX_MIN(3, n) &&
			 f->nevents * 2 >= (int64_t)f->nsteps &&
			 (double)most <= NSX_MAX(1 / 2.0, 1 / 3.0 + 1.0 / n) *
						 (double)f->nevents;
}

/* Leaves those of the late ones of which that holds; returns whether it holds of all. */
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

/* Where it is another rank at most steps, one that it was more often is not at
 * fault.
 */
static void excuse_rotating(struct judge *j, double *scratch)
{
	find_events(j, true, scratch);
	if (j->f->is_rotating)
		(void)keep_late(j->f, is_steady);
}

/* Whether of more than a tenth of the sends and receives it is not known who waits
 * for whom; the first ones of a capture may have been launched before it.
 */
static bool has_unknown_pairs(const struct nsx_fleet *f)
{
	size_t all = 0, unknown = 0;

	for (uint32_t i = 0; i < f->ncomms; i++) {
		const struct nsx_fcomm *c = &f->comm[i];

		for (uint32_t m = 0; m < c->n; m++) {
			const struct nsx_dchannel *ch = nsx_channel_of(
				f, &c->m[m]);

			if (!nsx_is_of_pairs(ch))
				continue;
			all += ch->n;
			unknown += nsx_is_of_unknown_pairs(f, c) ? ch->n : 0;
		}
	}
	return unknown * 10 > all;
}

static bool has_unknown_order(const struct nsx_fleet *f)
{
	for (uint32_t i = 0; i < f->nclocks; i++)
		if (f->clock[i].component)
			return true;
	return false;
}

/* Most ranks are late only by what the few do without: by waiting.  Those with less to
 * compute hold nobody up.
 */
static bool is_few_or_waits(const struct nsx_late *l)
{
	return !l->are_most || l->cause == NSX_WHY_IDLE ||
	       l->cause == NSX_WHY_COPY;
}

/* Where nobody knows who waits for whom, only who computes longer holds others up: they
 * may have worked while one was idle.
 */
static bool computes_longer(const struct nsx_late *l)
{
	return l->cause >= NSX_WHY_SLOWER && l->cause <= NSX_WHY_MORE;
}

/* The late ones whose cause may hold the others up. */
static void keep_by_cause(struct nsx_fleet *f)
{
	if (!keep_late(f, is_few_or_waits))
		f->all_recoverable_ns = 0;
	if ((f->by_totals || f->has_one_sides) && has_unknown_pairs(f) &&
	    !keep_late(f, computes_longer))
		f->all_recoverable_ns = f->nlate ? f->late[0].recoverable_ns : 0;
}

/* Where nobody is named: who took most over the others, and why that is no
 * verdict.  Few ranks or few steps prove little; what is proven may cost nobody
 * anything.
 */
static void find_suspect(const struct judge *j)
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
		x->nsteps += j->excess[s * f->nranks + x->rank] >=
			     LEAST_SHARE * f->step_ns;
	x->why = f->rank[x->rank].nsteps < LEAST_STEPS ? NSX_FEW_STEPS :
		 x->p >= LEAST_P ? NSX_NOT_PROVEN :
		 has_unknown_pairs(f) ? NSX_PAIRS_UNKNOWN :
		 has_unknown_order(f) ? NSX_ORDER_UNKNOWN : NSX_NOT_WAITED_FOR;
	if (f->nlate || f->is_rotating || x->nsteps < 2 ||
	    x->excess_ns < LEAST_SHARE * f->step_ns)
		x->nsteps = 0;
}

/* What it costs --------------------------------------------------------------------------*/

NSX_ORDER(cmp_price, struct nsx_late, DOWN(recoverable_ns), UP(ranks[0]));

static void remove_ranks(uint32_t *all, uint32_t n, const struct nsx_late *l)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (!is_one_of(l, all[i]))
			all[kept++] = all[i];
}

static struct nsx_passed new_passed(const struct judge *j)
{
	const struct nsx_fleet *f = j->f;
	struct nsx_passed s = {
		nsx_arena_get(j->a, f->ncomms * sizeof(*s.wait_ns)),
		nsx_arena_get(j->a, f->ncomms * sizeof(*s.held_ns))};

	for (uint32_t c = 0; c < f->ncomms; c++) {
		s.wait_ns[c] = nsx_arena_get(j->a, f->comm[c].n * sizeof(double));
		s.held_ns[c] = nsx_arena_get(j->a, f->comm[c].n * sizeof(double));
	}
	return s;
}

/* The member of a communicator that the others wait for most. */
static uint32_t holder_in(const struct nsx_fleet *f, const struct nsx_passed *s,
			  uint32_t comm)
{
	uint32_t most = 0;

	for (uint32_t m = 1; m < f->comm[comm].n; m++)
		if (s->held_ns[comm][m] > s->held_ns[comm][most])
			most = m;
	return f->comm[comm].m[most].rank;
}

/* The communicator in which a rank waits most, but one; NSX_NONE: in none. */
static uint32_t waits_in(const struct nsx_fleet *f, const struct nsx_passed *s,
			 uint32_t rank, uint32_t but)
{
	uint32_t most = NSX_NONE;
	double most_ns = 0;

	for (uint32_t c = 0; c < f->ncomms; c++)
		for (uint32_t m = 0; c != but && m < f->comm[c].n; m++)
			if (f->comm[c].m[m].rank == rank &&
			    s->wait_ns[c][m] > most_ns) {
				most_ns = s->wait_ns[c][m];
				most = c;
			}
	return most;
}

/* What is waited for the late one itself and for those that wait for it, and the
 * way from it to where most of the latter is.
 */
static void follow(const struct judge *j, const struct nsx_passed *s,
		   struct nsx_late *l)
{
	const struct nsx_fleet *f = j->f;
	struct nsx_hop way[MOST_HOPS];
	uint32_t comm = NSX_NONE, rank = NSX_NONE;
	unsigned n = 0;
	double most_ns = 0;

	for (uint32_t c = 0; c < f->ncomms; c++)
		for (uint32_t m = 0; m < f->comm[c].n; m++) {
			double ns = s->held_ns[c][m] / (double)f->nsteps;
			uint32_t r = f->comm[c].m[m].rank;

			if (is_one_of(l, r)) {
				l->direct_ns += ns;
				continue;
			}
			l->passed_on_ns += ns;
			if (ns > most_ns) {
				most_ns = ns;
				comm = c;
				rank = r;
			}
		}
	while (comm != NSX_NONE && n < MOST_HOPS) {
		way[n++] = (struct nsx_hop){comm, rank};
		if (is_one_of(l, rank))
			break;
		comm = waits_in(f, s, rank, comm);
		rank = comm == NSX_NONE ? NSX_NONE : holder_in(f, s, comm);
	}
	if (!n || !is_one_of(l, way[n - 1].rank))
		return;
	l->hop = nsx_arena_get(f->arena, n * sizeof(*way));
	for (l->nhops = 0; l->nhops < n; l->nhops++)
		l->hop[l->nhops] = way[n - 1 - l->nhops];
}

/* By how much the slowest of these ranks exceeds the median of the others in a step, on
 * average: ranks of other work, as the stages of a pipeline, do not show more.
 */
static double most_over_others(const struct judge *j, const uint32_t *ranks, uint32_t n,
			       double *scratch)
{
	const struct nsx_fleet *f = j->f;
	bool *is_in = nsx_arena_get(j->a, f->nranks * sizeof(*is_in));
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		is_in[ranks[i]] = true;
	for (size_t s = 0; s < f->nsteps; s++) {
		const double *own = &f->own_ns[s * f->nranks];
		double most = 0;
		size_t k = 0;

		for (uint32_t r = 0; r < f->nranks; r++)
			if (isnan(own[r]))
				continue;
			else if (is_in[r])
				most = NSX_MAX(most, own[r]);
			else
				scratch[k++] = own[r];
		sum += k ? NSX_MAX(0, most - nsx_median_of(scratch, k)) : 0;
	}
	return sum / NSX_MAX(1, (double)nsx_fleet_steps_of(f, ranks, n));
}

/* Of several that are as late as each other each costs nothing alone, for the rest
 * are still there: what they cost together, beyond those that are priced.
 */
static int price_group(struct judge *j, const uint32_t *v, uint32_t n,
		       uint32_t *all, uint32_t nall, double *scratch,
		       struct nsx_err *err)
{
	struct nsx_fleet *f = j->f;
	struct nsx_passed passed = new_passed(j);
	struct nsx_late *l;
	double together;

	memcpy(all + nall, v, n * sizeof(*v));
	nsx_sort(all, nall + n, sizeof(*all), nsx_cmp_u32);
	if (nsx_fleet_replay(f, &(struct nsx_mended){all, nall + n, NULL},
			     &passed, &together, err))
		return err->rc;
	together = NSX_MIN(together, f->all_recoverable_ns +
				     most_over_others(j, v, n, scratch));
	if (together - f->all_recoverable_ns < LEAST_SHARE * f->step_ns)
		return 0;
	l = add_late(j, v, n);
	nsx_sort(l->ranks, n, sizeof(*l->ranks), nsx_cmp_u32);
	l->recoverable_ns = together - f->all_recoverable_ns;
	f->all_recoverable_ns = together;
	follow(j, &passed, l);
	return 0;
}

/* Prices the late ones alone, and together in order; who adds next to nothing
 * to the ones before it is not held against anybody.
 */
static int price(struct judge *j, double *scratch, struct nsx_err *err)
{
	struct nsx_fleet *f = j->f;
	uint32_t *all = nsx_arena_get(j->a, f->nranks * sizeof(uint32_t)), n = 0;
	uint32_t *rest = nsx_arena_get(j->a, f->nranks * sizeof(uint32_t)), nrest = 0;
	size_t kept = 0, tried = NSX_MIN(f->nlate, MOST_LATE);

	for (size_t i = tried; i < f->nlate; i++)
		for (uint32_t k = 0; k < f->late[i].n; k++)
			rest[nrest++] = f->late[i].ranks[k];
	for (size_t i = 0; i < tried; i++) {
		struct nsx_passed passed = new_passed(j);
		struct nsx_late l = f->late[i];
		uint32_t *with = all + n;
		double together;

		if (nsx_fleet_replay(f,
				     &(struct nsx_mended){l.ranks, l.n, NULL},
				     &passed, &l.recoverable_ns, err))
			return err->rc;
		follow(j, &passed, &l);
		together = l.recoverable_ns;
		memcpy(with, l.ranks, l.n * sizeof(*with));
		nsx_sort(all, n + l.n, sizeof(*all), nsx_cmp_u32);
		if (n && nsx_fleet_replay(
				 f, &(struct nsx_mended){all, n + l.n, NULL},
				 NULL, &together, err))
			return err->rc;
		if (together - f->all_recoverable_ns <
		    (kept ? LEAST_ADDED : LEAST_SHARE) * f->step_ns) {
			remove_ranks(all, n + l.n, &l);
			memcpy(rest + nrest, l.ranks, l.n * sizeof(*rest));
			nrest += l.n;
			continue;
		}
		f->all_recoverable_ns = together;
		n += l.n;
		f->late[kept++] = l;
	}
	f->nlate = kept;
	return nrest > 1 ? price_group(j, rest, nrest, all, n, scratch, err) : 0;
}

/* Slow links are late ranks of their own: their members. */
static int add_links(struct judge *j, struct nsx_err *err)
{
	struct nsx_fleet *f = j->f;

	for (size_t i = 0; i < f->nlinks; i++) {
		const struct nsx_fcomm *c = &f->comm[f->link[i].comm];
		uint32_t *v = nsx_arena_get(j->a, c->n * sizeof(*v));
		double gain;
		struct nsx_late *l;

		for (uint32_t m = 0; m < c->n; m++)
			v[m] = c->m[m].rank;
		if (nsx_fleet_replay(f,
				     &(struct nsx_mended){.link = &f->link[i]},
				     NULL, &gain, err))
			return err->rc;
		if (gain < LEAST_SHARE * f->step_ns)
			continue;
		l = add_late(j, v, c->n);
		l->cause = NSX_WHY_LINK;
		l->explained = 1;
		l->kind = NSX_LATE_STEADY;
		l->nsteps = (int64_t)f->nsteps;
		l->recoverable_ns = gain;
		l->excess_ns = gain;
		l->ratio = 1 + f->link[i].excess_ns / f->link[i].typical_ns;
		l->p = 0;
	}
	return 0;
}

int nsx_fleet_judge(struct nsx_fleet *f, struct nsx_err *err)
{
	struct judge j = {.f = f, .a = nsx_arena_new()};
	double *scratch = nsx_arena_get(j.a, (f->nranks + f->nsteps + 1) *
						     sizeof(*scratch));
	int rc = 0;

	j.p = nsx_arena_get(j.a, f->nranks * sizeof(*j.p));
	j.p_early = nsx_arena_get(j.a, f->nranks * sizeof(*j.p_early));
	if (!nsx_new_array(j.excess, j.a, f->nsteps * f->nranks,
			   "steps of ranks", err))
		rc = err->rc;
	if (!rc && f->nsteps) {
		find_excess(&j, scratch);
		warn_of_short(f);
		test_ranks(&j, block_of(&j, scratch));
		rc = name_late(&j, scratch, err);
		if (!rc) {
			excuse_rotating(&j, scratch);
			rc = price(&j, scratch, err);
		}
		for (size_t i = 0; i < f->nlate && !rc; i++)
			explain(&j, &f->late[i], scratch);
		keep_by_cause(f);
		if (!rc)
			rc = add_links(&j, err);
		find_events(&j, false, scratch);
		find_suspect(&j);
		nsx_sort(f->late, f->nlate, sizeof(*f->late), cmp_price);
	}
	nsx_arena_free(j.a);
	return rc;
}
