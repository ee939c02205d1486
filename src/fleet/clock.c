/* clock.c - how far the hosts' clocks are apart, proven by collectives.
 *
 * No rank leaves a collective before its last rank has come. So for ranks q and r of a collective,
 * offset(r) - offset(q) <= end(r) - start(q), each on its own clock. Shortest paths over all pairs
 * give the tightest interval. The estimate is the offset at which ends agree, clamped to the
 * interval.
 *
 * Captures of one host that record its steady clock share one unknown offset. Any other capture has
 * its own, because its time stamp has its own error.
 */
#include <math.h>
#include "base/stat.h"
#include "fleet/match.h"

#define LEAST_DRIFT 1e-6

enum {
	MOST_COMPARED = 512,   /* collectives per communicator */
	MOST_PATHS = 512, /* with more clocks than this, paths over third clocks are left out */
	LEAST_FOR_DRIFT = 12,
};

struct clocks {
	struct nsx_fleet *f;
	double *bound;	 /* [q * n + r]: greatest lead of clock r over clock q */
	struct pair {	 /* a clock's ends compared with those of the reference clock */
		struct lead {
			double at_ns, by_ns; /* by the reference clock; how much later the end is */
		} *v; /* communicator by communicator */
		size_t n, cap;
	} *diff;	 /* by clock */
	struct nsx_arena *a;
};

/* Clocks -------------------------------------------------------------------------------*/

static bool is_tied(const struct nsx_frank *r)
{
	return r->d->host && r->d->system_ns >= 0 && r->d->utc_ns >= 0;
}

/* Assigns a clock to each rank. */
static int list_clocks(struct nsx_fleet *f, struct nsx_arena *a, struct nsx_err *err)
{
	uint32_t *of_host = nsx_arena_get(a, f->nhosts * sizeof(*of_host));

	if (!nsx_new_array(f->clock, f->arena, f->nranks, "clocks", err))
		return err->rc;
	for (uint32_t i = 0; i < f->nranks; i++) {
		struct nsx_frank *r = &f->rank[i];

		if (is_tied(r) && of_host[r->host]) {
			r->clock = of_host[r->host] - 1;
			continue;
		}
		r->clock = f->nclocks++;
		f->clock[r->clock] = (struct nsx_fclock){
			.host = is_tied(r) ? r->host : NSX_NONE, .rank = i};
		if (is_tied(r))
			of_host[r->host] = r->clock + 1;
	}
	return 0;
}

/* Finds UTC at each rank's zero, by its own clock. */
static void find_zeros(struct nsx_fleet *f, double *v)
{

	for (uint32_t i = 0; i < f->nranks; i++)
		if (f->rank[i].d->utc_ns >= 0 && !f->utc_ns)
			f->utc_ns = f->rank[i].d->utc_ns;
	for (uint32_t k = 0; k < f->nclocks; k++) {
		size_t n = 0;
		double tie;

		/* UTC minus steady clock: median of the stamps */
		for (uint32_t i = f->clock[k].rank; i < f->nranks; i++) {
			const struct nsx_digest *d = f->rank[i].d;

			if (f->rank[i].clock == k && f->clock[k].host != NSX_NONE)
				v[n++] = (double)(d->utc_ns - f->utc_ns - d->system_ns);
		}
		tie = nsx_median_of(v, n);
		for (uint32_t i = f->clock[k].rank; i < f->nranks; i++) {
			const struct nsx_digest *d = f->rank[i].d;

			if (f->rank[i].clock == k)
				f->rank[i].zero_ns = n ? (double)d->system_ns + tie :
					d->utc_ns < 0 ? 0 :
					(double)(d->utc_ns - f->utc_ns);
		}
	}
}

int nsx_fleet_list_clocks(struct nsx_fleet *f, struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	int rc = list_clocks(f, a, err);

	if (!rc)
		find_zeros(f, nsx_arena_get(a, f->nranks * sizeof(double)));
	nsx_arena_free(a);
	return rc;
}

/* Comparing ------------------------------------------------------------------------------*/

/* last arrival and first end of a clock's ranks in one collective */
struct seen {
	double start, end;
	bool is_there;
};

static void bound_pairs(struct clocks *c, const struct seen *v, const uint32_t *there, size_t n)
{
	uint32_t nclocks = c->f->nclocks;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			double *b = &c->bound[(size_t)there[i] * nclocks + there[j]];

			if (i != j)
				*b = NSX_MIN(*b, v[there[j]].end - v[there[i]].start);
		}
}

static int note_ends(struct clocks *c, const struct seen *v,
		     const uint32_t *there, size_t n, struct nsx_err *err)
{
	for (size_t i = 0; i < n && v[0].is_there; i++) {
		struct pair *p = &c->diff[there[i]];

		if (nsx_push(p->v, p->n, p->cap, "ends", err,
			     (struct lead){v[0].end, v[there[i]].end - v[0].end}))
			return err->rc;
	}
	return 0;
}

static int clock_compare(struct clocks *c, const struct nsx_fcomm *m, size_t k,
			 const double *drift, double middle, struct seen *v,
			 uint32_t *there, struct nsx_err *err)
{
	const struct nsx_fleet *f = c->f;
	size_t n = 0;
	int rc = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t r = m->m[i].rank, at = f->rank[r].clock;
		struct nsx_coll x;
		double start, end;

		if (!nsx_coll_at(&m->m[i], k, &x))
			continue;
		start = f->rank[r].zero_ns + (double)x.start_ns;
		end = start + (double)x.ns;
		start -= drift[at] * (start - middle);
		end -= drift[at] * (end - middle);
		if (!v[at].is_there) {
			v[at] = (struct seen){start, end, true};
			there[n++] = at;
		}
		v[at].start = NSX_MAX(v[at].start, start);
		v[at].end = NSX_MIN(v[at].end, end);
	}
	bound_pairs(c, v, there, n);
	rc = note_ends(c, v, there, n, err);
	for (size_t i = 0; i < n; i++)
		v[there[i]].is_there = false;
	return rc;
}

static int compare_all(struct clocks *c, const double *drift, double middle, struct nsx_err *err)
{
	struct nsx_fleet *f = c->f;
	size_t n = f->nclocks;
	struct seen *v = nsx_arena_get(c->a, n * sizeof(*v));
	uint32_t *there = nsx_arena_get(c->a, n * sizeof(*there));
	int rc = 0;

	for (size_t i = 0; i < n * n; i++)
		c->bound[i] = INFINITY;
	for (size_t i = 0; i < n; i++)
		c->diff[i].n = 0;
	for (uint32_t i = 0; i < f->ncomms && !rc; i++) {
		const struct nsx_fcomm *m = &f->comm[i];
		/* MPI sends small messages before the other side comes. */
		size_t all = nsx_is_of_mpi_pairs(m) ? 0 : m->end - m->first;
		size_t most = NSX_MIN(all, MOST_COMPARED);

		for (size_t s = 0; s < most && !rc && m->n > 1; s++) {
			size_t k = m->first + all * s / most;

			if (nsx_holds_all(m, k))
				rc = clock_compare(c, m, k, drift, middle, v, there, err);
		}
	}
	return rc;
}

/* Warns of n contradicting pairs, of which q and r contradict each other most. */
static void warn_of_contradictions(struct nsx_fleet *f, size_t n, size_t q, size_t r, double by_ns)
{
	static const char why[] = "a clock was set during the capture, or collectives "
				  "are matched wrongly; they are not compared";
	long long first = f->rank[f->clock[q].rank].number;
	long long second = f->rank[f->clock[r].rank].number;

	if (n == 1)
		nsx_fleet_warn(f, "the clocks of ranks %lld and %lld contradict each "
			       "other by %.1f us: %s", first, second, by_ns / 1000, why);
	else
		nsx_fleet_warn(f, "%zu pairs of clocks contradict each other, most "
			       "those of ranks %lld and %lld, by %.1f us: %s", n, first,
			       second, by_ns / 1000, why);
}

/* How much two clocks contradict each other. Either one was set during the capture, or two different
 * collectives were matched.
 */
static double contradiction_ns(const struct clocks *c, size_t q, size_t r)
{
	size_t n = c->f->nclocks;

	return -(c->bound[q * n + r] + c->bound[r * n + q]);
}

/* Drops all bounds of the clock that contradicts most others, until none contradict each other, and
 * warns of the pairs that did.
 */
static void drop_contradictions(struct clocks *c)
{
	size_t n = c->f->nclocks, npairs = 0, most_q = 0, most_r = 0, worst;
	size_t *count = nsx_arena_get(c->a, n * sizeof(*count));
	double most_ns = 0;

	for (size_t q = 0; q < n; q++)
		for (size_t r = q + 1; r < n; r++) {
			double by_ns = contradiction_ns(c, q, r);

			if (by_ns <= 0)
				continue;
			npairs++;
			count[q]++;
			count[r]++;
			if (by_ns > most_ns) {
				most_ns = by_ns;
				most_q = q;
				most_r = r;
			}
		}
	if (npairs)
		warn_of_contradictions(c->f, npairs, most_q, most_r, most_ns);
	for (; npairs; npairs -= count[worst], count[worst] = 0) {
		worst = 0;
		for (size_t q = 1; q < n; q++)
			if (count[q] >= count[worst])
				worst = q;
		for (size_t q = 0; q < n; q++) {
			if (q != worst && contradiction_ns(c, q, worst) > 0)
				count[q]--;
			c->bound[q * n + worst] = c->bound[worst * n + q] = INFINITY;
		}
	}
}

static void shorten(struct clocks *c)
{
	size_t n = c->f->nclocks;

	for (size_t via = 0; via < n && n <= MOST_PATHS; via++)
		for (size_t q = 0; q < n; q++) {
			const double first = c->bound[q * n + via];
			double *to = c->bound + q * n;

			if (isinf(first))
				continue;
			for (size_t r = 0; r < n; r++)
				to[r] = NSX_MIN(to[r], first + c->bound[via * n + r]);
		}
}

NSX_ORDER(cmp_lead, struct lead, UP(at_ns), UP(by_ns));

/* Median of n leads in order of time; *ret_at: their middle instant. */
static double median_lead(const struct lead *v, size_t n, double *scratch, double *ret_at)
{
	*ret_at = v[n / 2].at_ns;
	for (size_t i = 0; i < n; i++)
		scratch[i] = v[i].by_ns;
	return nsx_median_of(scratch, n);
}

/* Drift as a ratio, from the outer thirds of the differences; the reference clock has none. */
static void clock_find_drift(struct clocks *c, double *drift)
{
	for (uint32_t i = 1; i < c->f->nclocks; i++) {
		struct pair *p = &c->diff[i];
		size_t third = p->n / 3;
		double *scratch, head, head_at, tail, tail_at, slope;

		if (p->n < LEAST_FOR_DRIFT)
			continue;
		nsx_sort(p->v, p->n, sizeof(*p->v), cmp_lead);
		scratch = nsx_arena_get(c->a, third * sizeof(*scratch));
		head = median_lead(p->v, third, scratch, &head_at);
		tail = median_lead(p->v + p->n - third, third, scratch, &tail_at);
		slope = tail_at > head_at ? (tail - head) / (tail_at - head_at) : 0;
		if (fabs(slope) > LEAST_DRIFT)
			drift[i] = slope;
	}
}

/* Sets offset, drift and remaining error of each clock, from its bounds and differences. */
static void settle(struct clocks *c, const double *drift)
{
	struct nsx_fleet *f = c->f;
	size_t n = f->nclocks;

	for (uint32_t i = 0; i < n; i++) {
		struct nsx_fclock *k = &f->clock[i];
		struct pair *p = &c->diff[i];
		double *by_ns = nsx_arena_get(c->a, p->n * sizeof(*by_ns));

		k->n = p->n;
		k->drift_ppm = drift[i] * 1e6;
		if (!i)
			continue;
		k->hi_ns = c->bound[i];
		k->lo_ns = -c->bound[(size_t)i * n];
		k->component = isinf(k->hi_ns) || isinf(k->lo_ns) ? i : 0;
		if (k->component)
			continue;
		for (size_t j = 0; j < p->n; j++)
			by_ns[j] = p->v[j].by_ns;
		k->residual_ns = nsx_spread_of(by_ns, p->n, &k->offset_ns);
		if (!p->n)
			k->offset_ns = (k->lo_ns + k->hi_ns) / 2;
		k->offset_ns = NSX_MAX(k->lo_ns, NSX_MIN(k->hi_ns, k->offset_ns));
	}
}

/* Middle of the time that all ranks share. */
static double middle_of(const struct nsx_fleet *f)
{
	double from = -INFINITY, to = INFINITY;

	for (uint32_t r = 0; r < f->nranks; r++) {
		const struct nsx_digest *d = f->rank[r].d;

		from = NSX_MAX(from, f->rank[r].zero_ns + (double)d->first_ns);
		to = NSX_MIN(to, f->rank[r].zero_ns + (double)d->last_ns);
	}
	return (from + to) / 2;
}

int nsx_fleet_clocks(struct nsx_fleet *f, struct nsx_err *err)
{
	struct clocks c = {.f = f, .a = nsx_arena_new()};
	double *drift, middle;
	bool failed;

	drift = nsx_arena_get(c.a, f->nranks * sizeof(*drift));
	c.diff = nsx_arena_get(c.a, f->nclocks * sizeof(*c.diff));
	middle = f->middle_ns = middle_of(f);
	failed = !nsx_new_array(c.bound, c.a, (size_t)f->nclocks * f->nclocks,
				"pairs of clocks", err) ||
		 compare_all(&c, drift, middle, err);
	if (!failed) {
		clock_find_drift(&c, drift);
		failed = compare_all(&c, drift, middle, err);
	}
	if (!failed) {
		drop_contradictions(&c);
		shorten(&c);
		settle(&c, drift);
	}
	for (uint32_t i = 0; i < f->nclocks; i++)
		free(c.diff[i].v);
	nsx_arena_free(c.a);
	return failed ? err->rc : 0;
}
