/* judge_why.c - why ranks are late: which part of their steps takes longer than the others'. */
#include "fleet/judge.h"

#define EXPLAINS 0.8	/* least share of the excess that a cause explains */
#define MORE_COPIED 0.1 /* least excess of copied bytes, relative to the others' bytes */
/* kernels of this share of kernel time are alike; those bound by memory follow another clock */
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

/* Means over the steps: the late ranks' excess over the others' median, and that median. */
static bool judge_why_compare(const struct nsx_judge *j, const struct nsx_late *l,
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
				if (part[r] && !nsx_late_has(l, r))
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

static const struct nsx_dfamily *find_family(const struct nsx_digest *d, const char *name)
{
	for (size_t i = 0; i < d->nfamilies; i++)
		if (!strcmp(d->families[i].name, name))
			return &d->families[i];
	return NULL;
}

/* Compares the late ranks' kernels with the others', family by family. Returns the overall
 * ratio; *ret_alike: the share of kernel time that has it.
 */
static double kernel_ratio(const struct nsx_judge *j, const struct nsx_late *l,
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
			const struct nsx_dfamily *y = find_family(f->rank[r].d, x->name);

			if (!y || !y->count)
				continue;
			if (nsx_late_has(l, r)) {
				mean += (double)y->total_ns / (double)y->count;
				own++;
			} else {
				scratch[k++] = (double)y->total_ns / (double)y->count;
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
static double told_of(const struct nsx_digest *d, const char *key)
{
	for (size_t i = 0; i < d->nfindings; i++)
		if (!strcmp(d->findings[i].key, key))
			return (double)NSX_MAX(0, d->findings[i].share_ppm) * 1e-6;
	return 0;
}

/* The finding of the late rank's report that explains its excess best, by its share above the
 * others' median; NULL: none does. A finding that is equally large for the others does not make the
 * rank late.
 */
static const struct nsx_dfinding *find_told(const struct nsx_judge *j, const struct nsx_late *l,
					    double *scratch)
{
	const struct nsx_fleet *f = j->f;
	const struct nsx_digest *d = f->rank[l->ranks[0]].d;
	const struct nsx_dfinding *best = NULL;
	double most = EXPLAINS * l->excess_ns / f->step_ns;

	for (size_t i = 0; i < d->nfindings; i++) {
		double mine = told_of(d, d->findings[i].key), over = mine;
		size_t n = 0;

		for (uint32_t r = 0; r < f->nranks && over >= most; r++)
			if (!nsx_late_has(l, r))
				scratch[n++] = told_of(f->rank[r].d, d->findings[i].key);
		over -= nsx_median_of(scratch, n);
		if (over < most || over < EXPLAINS * mine)
			continue;
		most = over;
		best = &d->findings[i];
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

static double bytes_of_step(const struct nsx_digest *d)
{
	return (double)d->copied_bytes / NSX_MAX(1, (double)d->nsteps);
}

static double bandwidth_of(const struct nsx_digest *d)
{
	return d->copy_ns > 0 ? (double)d->copied_bytes / (double)d->copy_ns : 0;
}

/* Sets whether more is copied or the copies are slower. */
static void explain_copies(const struct nsx_judge *j, struct nsx_late *l, double *scratch)
{
	double mine[2] = {0}, usual[2];

	for (unsigned i = 0; i < 2; i++) {
		size_t n = 0;

		for (uint32_t r = 0; r < j->f->nranks; r++) {
			const struct nsx_digest *d = j->f->rank[r].d;
			double x = i ? bandwidth_of(d) : bytes_of_step(d);

			if (nsx_late_has(l, r))
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
