/* judge_why.c - why ranks are late: which part of their steps takes longer than the others'. */
#include <math.h>
#include "fleet/judge.h"

#define EXPLAINS 0.8	/* least share of the excess that a cause explains */
#define MORE_COPIED 0.1 /* least excess of copied bytes, relative to the others' bytes */
/* All kernels count as slower if kernels of this share of the kernel time are slower alike: those
 * bound by memory depend on another clock.
 */
#define MOST_ALIKE 0.75

/* Quantities of an iteration that are compared. */
enum { Q_COMPUTE = NSX_COMPUTE, Q_COPY, Q_IDLE, Q_OWN, Q_KERNELS, Q_CAUSE,
       NQUANTITIES = Q_CAUSE + NSX_NCAUSES };

static double quantity(const struct nsx_dstep *s, unsigned q)
{
	switch (q) {
	case Q_OWN:
		return (double)(s->wall_ns - s->part_ns[NSX_P_COMM_EXPOSED] - s->mpi_ns);
	case Q_KERNELS:
		return (double)s->kernels;
	case Q_CAUSE + NSX_CAUSE_OSRT: /* MPI's calls wait in the operating system */
		return (double)NSX_MAX(0, s->cause_ns[NSX_CAUSE_OSRT] - s->mpi_ns);
	default:
		return q < NSX_NCLASSES ? nsx_class_ns(s, q) : (double)s->cause_ns[q - Q_CAUSE];
	}
}

struct nsx_against nsx_compare(const struct nsx_judge *j, const struct nsx_late *l,
			       double (*value)(const void *ctx, const struct nsx_digest *d, uint32_t r),
			       const void *ctx, double *scratch)
{
	struct nsx_against ret = {0};

	for (uint32_t r = 0; r < j->f->nranks; r++) {
		double x = value(ctx, j->f->rank[r].d, r);

		if (isnan(x))
			continue;
		if (nsx_late_has(l, r)) {
			ret.sum += x;
			ret.n++;
		} else if (nsx_is_compared(l, r)) {
			scratch[ret.nothers++] = x;
		}
	}
	ret.usual = nsx_median_of(scratch, ret.nothers);
	return ret;
}

struct of_step {
	struct nsx_dstep *const *part; /* by rank */
	unsigned q;
};

static double value_in_step(const void *ctx, const struct nsx_digest *d NSX_UNUSED, uint32_t r)
{
	const struct of_step *s = ctx;

	return s->part[r] ? quantity(s->part[r], s->q) : NAN;
}

/* Means over the steps: the late ranks' excess over the others' median, and that median. */
static bool judge_why_compare(const struct nsx_judge *j, const struct nsx_late *l,
			      double *over, double *usual, double *scratch)
{
	const struct nsx_fleet *f = j->f;
	size_t nsteps = 0;

	memset(over, 0, NQUANTITIES * sizeof(*over));
	memset(usual, 0, NQUANTITIES * sizeof(*usual));
	for (size_t s = 0; s < f->nsteps; s++) {
		for (struct of_step x = {&f->part[s * f->nranks], 0}; x.q < NQUANTITIES; x.q++) {
			struct nsx_against v = nsx_compare(j, l, value_in_step, &x, scratch);

			if (v.n < l->n)
				break;
			if (!v.nothers)
				return false;
			over[x.q] += (v.sum - l->n * v.usual) / l->n;
			usual[x.q] += v.usual;
			nsteps += !x.q;
		}
	}
	for (unsigned q = 0; nsteps && q < NQUANTITIES; q++) {
		over[q] /= (double)nsteps;
		usual[q] /= (double)nsteps;
	}
	return nsteps > 0;
}

/* Mean length of a digest's kernels of a name. */
static double mean_kernel(const void *name, const struct nsx_digest *d, uint32_t r NSX_UNUSED)
{
	for (size_t i = 0; i < d->nfamilies; i++) {
		const struct nsx_dfamily *x = &d->families[i];

		if (!strcmp(x->name, name))
			return x->count ? (double)x->total_ns / (double)x->count : NAN;
	}
	return NAN;
}

/* Compares the late ranks' kernels with the others', family by family. Returns the overall
 * ratio; *ret_alike: the share of kernel time that is slower by at least half as much.
 */
static double kernel_ratio(const struct nsx_judge *j, const struct nsx_late *l,
			   double *scratch, double *ret_alike)
{
	const struct nsx_digest *d = j->f->rank[l->ranks[0]].d;
	size_t n = NSX_MIN(d->nfamilies, 32);
	double now = 0, usual = 0, sharing = 0;
	double ratio[32] = {0}, weight[32] = {0};

	for (size_t i = 0; i < n; i++) {
		const struct nsx_dfamily *x = &d->families[i];
		struct nsx_against v = nsx_compare(j, l, mean_kernel, x->name, scratch);

		if (!v.nothers || !v.n || v.usual <= 0)
			continue;
		ratio[i] = v.sum / v.n / v.usual;
		weight[i] = v.usual * (double)x->count;
		now += v.sum / v.n * (double)x->count;
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

/* The call or range that explains most of the excess idle time of a cause; NULL: none does. */
static const char *idle_detail(const struct nsx_judge *j, const struct nsx_late *l,
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

/* Share of the rank's time that its own report gives for a finding. */
static double told_of(const void *key, const struct nsx_digest *d, uint32_t r NSX_UNUSED)
{
	for (size_t i = 0; i < d->nfindings; i++) {
		const struct nsx_dfinding *x = &d->findings[i];

		if (!strcmp(x->key, key))
			return (double)NSX_MAX(0, x->share_ppm) * 1e-6;
	}
	return 0;
}

/* The finding of the late rank's report that explains its excess best, by its share above the
 * others' median; NULL: none does. A finding that is equally large for the others does not make the
 * rank late.
 */
static const struct nsx_dfinding *find_told(const struct nsx_judge *j, const struct nsx_late *l,
					    double *scratch)
{
	const struct nsx_digest *d = j->f->rank[l->ranks[0]].d;
	const struct nsx_dfinding *best = NULL;
	double most = EXPLAINS * l->excess_ns / j->f->step_ns;

	for (size_t i = 0; i < d->nfindings; i++) {
		const struct nsx_dfinding *x = &d->findings[i];
		double mine = told_of(x->key, d, 0), over = mine;

		if (mine >= most)
			over -= nsx_compare(j, l, told_of, x->key, scratch).usual;
		if (over < most || over < EXPLAINS * mine)
			continue;
		most = over;
		best = x;
	}
	return best;
}

static void explain_idle(const struct nsx_judge *j, struct nsx_late *l, const double *over)
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

static double bytes_of_step(const void *ctx NSX_UNUSED, const struct nsx_digest *d,
			    uint32_t r NSX_UNUSED)
{
	return (double)d->copied_bytes / NSX_MAX(1, (double)d->nsteps);
}

static double bandwidth_of(const void *ctx NSX_UNUSED, const struct nsx_digest *d,
			   uint32_t r NSX_UNUSED)
{
	return d->copy_ns > 0 ? (double)d->copied_bytes / (double)d->copy_ns : 0;
}

/* Sets whether more is copied or the copies are slower. */
static void explain_copies(const struct nsx_judge *j, struct nsx_late *l, double *scratch)
{
	struct nsx_against bytes = nsx_compare(j, l, bytes_of_step, NULL, scratch);
	struct nsx_against speed = nsx_compare(j, l, bandwidth_of, NULL, scratch);

	l->more_bytes = bytes.sum / l->n - bytes.usual;
	if (l->more_bytes < MORE_COPIED * bytes.usual)
		l->more_bytes = 0;
	l->gbps[0] = speed.sum / l->n;
	l->gbps[1] = speed.usual;
}

void nsx_explain_late(const struct nsx_judge *j, struct nsx_late *l, double *scratch)
{
	double over[NQUANTITIES], usual[NQUANTITIES];

	l->cause = NSX_WHY_UNKNOWN;
	l->idle_cause = NSX_NCAUSES;
	if (!judge_why_compare(j, l, over, usual, scratch) || over[Q_OWN] <= 0)
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
	if (l->cause == NSX_WHY_IDLE || l->cause == NSX_WHY_COPY || l->cause == NSX_WHY_UNKNOWN)
		l->told = find_told(j, l, scratch);
}
