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
			double at_ns, by_ns; /* reference clock's end; this clock's minus it */
		} *v; /* communicator by communicator */
		size_t n, cap;
	} *diff;	 /* by clock */
	double *drift;	 /* by clock: a ratio */
	struct seen {	 /* last arrival and first end of a clock's ranks in one collective */
		double start, end;
		bool is_there;
	} *seen;	 /* by clock */
	uint32_t *there; /* the clocks with ranks in the collective */
	bool only_sure; /* leaves out communicators whose members are inferred */
	struct nsx_arena *a;
};

/* Clocks -------------------------------------------------------------------------------*/

static bool is_tied(const struct nsx_frank *r)
{
	return r->d->host && r->d->system_ns >= 0 && r->d->utc_ns >= 0;
}

/* Assigns a clock to each rank. */
static int list_clocks(struct nsx_fleet *f, uint32_t *of_host, struct nsx_err *err)
{
	if (!nsx_new_array(f->clock, f->arena, f->nranks, "clocks", err))
		return err->rc;
	for (uint32_t i = 0; i < f->nranks; i++) {
		struct nsx_frank *r = &f->rank[i];
		uint32_t *of = is_tied(r) ? &of_host[r->host] : NULL;

		if (of && *of) {
			r->clock = *of - 1;
			continue;
		}
		r->clock = f->nclocks++;
		f->clock[r->clock] = (struct nsx_fclock){.host = of ? r->host : NSX_NONE, .rank = i};
		if (of)
			*of = f->nclocks;
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
		bool is_tied_clock = f->clock[k].host != NSX_NONE;
		struct nsx_frank *r = &f->rank[f->clock[k].rank], *end = f->rank + f->nranks;
		size_t n = 0;
		double tie;

		/* UTC minus steady clock: median of the stamps */
		for (const struct nsx_frank *x = r; x < end && is_tied_clock; x++)
			if (x->clock == k)
				v[n++] = (double)(x->d->utc_ns - f->utc_ns - x->d->system_ns);
		tie = nsx_median_of(v, n);
		for (; r < end; r++)
			if (r->clock == k)
				r->zero_ns = n ? (double)r->d->system_ns + tie : r->d->utc_ns < 0 ? 0 :
					     (double)(r->d->utc_ns - f->utc_ns);
	}
}

int nsx_fleet_list_clocks(struct nsx_fleet *f, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	int rc = list_clocks(f, nsx_arena_get(a, f->nhosts * sizeof(uint32_t)), err);

	if (!rc)
		find_zeros(f, nsx_arena_get(a, f->nranks * sizeof(double)));
	return rc;
}

/* Comparing ------------------------------------------------------------------------------*/

/* Compares the clocks of a collective's members. Nobody ends before the last one has come, which
 * bounds how much one clock leads another. The ends, compared with those of the first clock, will
 * show drift.
 */
static int clock_compare(struct clocks *c, const struct nsx_fcomm *m, size_t k, struct nsx_err *err)
{
	const struct nsx_fleet *f = c->f;
	size_t n = 0;
	int rc = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		const struct nsx_frank *r = &f->rank[m->m[i].rank];
		struct seen *v = &c->seen[r->clock];
		struct nsx_coll x;
		double start, end;

		if (!nsx_coll_at(&m->m[i], k, &x))
			continue;
		start = r->zero_ns + (double)x.start_ns;
		end = start + (double)x.ns;
		start -= c->drift[r->clock] * (start - f->middle_ns);
		end -= c->drift[r->clock] * (end - f->middle_ns);
		if (!v->is_there) {
			*v = (struct seen){start, end, true};
			c->there[n++] = r->clock;
		}
		v->start = NSX_MAX(v->start, start);
		v->end = NSX_MIN(v->end, end);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			uint32_t q = c->there[i], r = c->there[j];
			double *b = &c->bound[(size_t)q * f->nclocks + r];

			if (q != r)
				*b = NSX_MIN(*b, c->seen[r].end - c->seen[q].start);
		}
	for (size_t i = 0; i < n && c->seen[0].is_there && !rc; i++) {
		struct pair *p = &c->diff[c->there[i]];
		double at = c->seen[0].end;

		rc = nsx_push(p->v, p->n, p->cap, "ends", err,
			      (struct lead){at, c->seen[c->there[i]].end - at});
	}
	for (size_t i = 0; i < n; i++)
		c->seen[c->there[i]].is_there = false;
	return rc;
}

/* Whether the members of a communicator are known, or are all ranks. */
static bool is_trusted(const struct nsx_fleet *f, const struct nsx_fcomm *m)
{
	return m->is_sure || m->n == f->nranks;
}

static int compare_all(struct clocks *c, struct nsx_err *err)
{
	const struct nsx_fleet *f = c->f;
	int rc = 0;

	for (size_t i = 0; i < (size_t)f->nclocks * f->nclocks; i++)
		c->bound[i] = INFINITY;
	for (size_t i = 0; i < f->nclocks; i++)
		c->diff[i].n = 0;
	for (size_t i = 0; i < f->ncomms && !rc; i++) {
		const struct nsx_fcomm *m = &f->comm[i];
		/* A small MPI message is sent before its receiver is there, so its end proves
		 * nothing.
		 */
		size_t all = nsx_is_of_mpi_pairs(m) || (c->only_sure && !is_trusted(f, m)) ?
				     0 : m->end - m->first;
		size_t most = NSX_MIN(all, MOST_COMPARED);

		for (size_t s = 0; s < most && !rc && m->n > 1; s++) {
			size_t k = m->first + all * s / most;

			if (nsx_holds_all(m, k))
				rc = clock_compare(c, m, k, err);
		}
	}
	return rc;
}

/* How much two clocks contradict each other. Either one was set during the capture, or two different
 * collectives were matched.
 */
static double contradiction_ns(const struct clocks *c, size_t q, size_t r)
{
	size_t n = c->f->nclocks;

	return -(c->bound[q * n + r] + c->bound[r * n + q]);
}

/* Whether all clocks were compared with the first, and none contradict each other. */
static bool are_right(const struct clocks *c)
{
	size_t n = c->f->nclocks;

	for (size_t q = 0; q < n; q++)
		for (size_t r = q + 1; r < n; r++)
			if (contradiction_ns(c, q, r) > 0 || (!q && isinf(contradiction_ns(c, q, r))))
				return false;
	return true;
}

/* Compares the clocks again without inferred members if they contradict each other, because such
 * members may be wrong. Keeps that result if it compares all clocks.
 */
static int doubt_members(struct clocks *c, struct nsx_err *err)
{
	if (are_right(c))
		return 0;
	c->only_sure = true;
	if (compare_all(c, err))
		return err->rc;
	c->only_sure = are_right(c);
	return c->only_sure ? 0 : compare_all(c, err);
}

/* Counts, for each clock, how many others it contradicts, and warns of the pairs. Returns their
 * number.
 */
static size_t count_contradictions(const struct clocks *c, size_t *count)
{
	static const char why[] = "a clock was set during the capture, or collectives "
				  "are matched wrongly; they are not compared";
	struct nsx_fleet *f = c->f;
	size_t npairs = 0;
	long long first = 0, second = 0;
	double most_ns = 0;

	for (size_t q = 0; q < f->nclocks; q++)
		for (size_t r = q + 1; r < f->nclocks; r++) {
			double by_ns = contradiction_ns(c, q, r);

			if (by_ns <= 0)
				continue;
			npairs++;
			count[q]++;
			count[r]++;
			if (by_ns > most_ns) {
				most_ns = by_ns;
				first = f->rank[f->clock[q].rank].number;
				second = f->rank[f->clock[r].rank].number;
			}
		}
	if (f->clocks_contradict) /* the warning was given when fewer collectives were compared */
		return npairs;
	f->clocks_contradict = npairs;
	if (npairs == 1)
		nsx_fleet_warn(f, "the clocks of ranks %lld and %lld contradict each "
			       "other by %.1f us: %s", first, second, most_ns / 1000, why);
	else if (npairs)
		nsx_fleet_warn(f, "%zu pairs of clocks contradict each other, most "
			       "those of ranks %lld and %lld, by %.1f us: %s", npairs, first,
			       second, most_ns / 1000, why);
	return npairs;
}

/* Drops all bounds of the clock that contradicts most others, until none contradict each other. */
static void drop_contradictions(struct clocks *c)
{
	size_t n = c->f->nclocks, worst;
	size_t *count = nsx_arena_get(c->a, n * sizeof(*count));
	size_t npairs = count_contradictions(c, count);

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
static void clock_find_drift(struct clocks *c)
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
			c->drift[i] = slope;
	}
}

/* Sets offset, drift and remaining error of each clock, from its bounds and differences. */
static void settle(struct clocks *c)
{
	size_t n = c->f->nclocks;

	for (uint32_t i = 0; i < n; i++) {
		struct nsx_fclock *k = &c->f->clock[i];
		struct pair *p = &c->diff[i];
		double *by_ns = nsx_arena_get(c->a, p->n * sizeof(*by_ns));

		k->n = p->n;
		k->drift_ppm = c->drift[i] * 1e6;
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
	size_t n = f->nclocks;
	int rc = 0;

	f->middle_ns = middle_of(f);
	c.diff = nsx_arena_get(c.a, n * sizeof(*c.diff));
	c.drift = nsx_arena_get(c.a, n * sizeof(*c.drift));
	c.seen = nsx_arena_get(c.a, n * sizeof(*c.seen));
	c.there = nsx_arena_get(c.a, n * sizeof(*c.there));
	if (!nsx_new_array(c.bound, c.a, n * n, "pairs of clocks", err) || compare_all(&c, err)) {
		rc = err->rc;
	} else {
		clock_find_drift(&c);
		rc = compare_all(&c, err) ?: doubt_members(&c, err);
	}
	if (!rc) {
		drop_contradictions(&c);
		shorten(&c);
		settle(&c);
	}
	for (uint32_t i = 0; i < n; i++)
		free(c.diff[i].v);
	nsx_arena_free(c.a);
	return rc;
}
