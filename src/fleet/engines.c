/* engines.c - engines of one model that share no collective, compared as peers.
 *
 * Replicas of a server, or engines that only prefill or only decode, work independently, so nobody
 * waits for anybody. Their steps are compared instead: those of one kind whose sizes lie between
 * the same powers of two. The sizes within differ between engines, so the others' times are
 * converted to an engine's mean size by the slope from the neighbouring class.
 */
#include <math.h>
#include "base/group.h"
#include "base/stat.h"
#include "facts/steps/steps.h"
#include "fleet/fleet.h"

#define LEAST_Z 5 /* least excess of a slow engine, in standard deviations of the others */
#define LEAST_SPREAD 0.01
#define LEAST_SLOWER_OF_FEW 0.10 /* least excess where the others are few, as a ratio */

enum { FEW = 4, /* a spread is known only of at least this many other engines */
       LEAST_COUNT = 8 /* a class needs this many steps for its median to be exact enough */ };

struct class { /* steps of one kind and size on one engine */
	const struct nsx_dkind *k;
	uint32_t engine;
	/* time that the other engines take for such a step; sure_ns: by those that did enough of
	 * them; 0: none did
	 */
	double expected_ns, sure_ns;
};
struct engines {
	struct nsx_fleet *f;
	struct class *v; /* by kind and size */
	size_t n;
	double *scratch;
	struct nsx_arena *a;
};

NSX_ORDER(cmp_class, struct class, UP(k->kind), UP(k->size), UP(engine));

bool nsx_has_engine(const struct nsx_digest *d)
{
	return NSX_ANY(i, d->nkinds, d->kinds[i].kind != NSX_STEP_TRAINING);
}

/* Whether two ranks did equally many steps of each kind and size, as workers of one engine whose
 * collectives were not recorded.
 */
static bool do_the_same(const struct nsx_digest *x, const struct nsx_digest *y)
{
	for (size_t i = 0; x->nkinds == y->nkinds && i < x->nkinds; i++)
		if (x->kinds[i].kind != y->kinds[i].kind || x->kinds[i].size != y->kinds[i].size ||
		    x->kinds[i].count != y->kinds[i].count || x->kinds[i].sizes != y->kinds[i].sizes)
			return false;
	return x->nkinds == y->nkinds;
}

/* The digest of an engine. Its ranks do the same steps; the first one stands for them. */
static const struct nsx_digest *digest_of(const struct nsx_fleet *f, uint32_t e)
{
	return f->rank[f->engine[e].ranks[0]].d;
}

/* Lists engines. Ranks are one engine if they share a communicator, directly or through other
 * ranks, or if they did the same steps.
 */
static void list_engines(struct nsx_fleet *f, struct nsx_arena *a)
{
	uint32_t *of = nsx_arena_get(a, f->nranks * sizeof(*of));

	for (uint32_t r = 0; r < f->nranks; r++)
		of[r] = r;
	for (uint32_t i = 0; i < f->ncomms; i++)
		for (uint32_t m = 1; m < f->comm[i].n; m++)
			nsx_join_sets(of, f->comm[i].m[0].rank, f->comm[i].m[m].rank);
	for (uint32_t r = 1; r < f->nranks; r++)
		for (uint32_t k = 0; k < r; k++)
			if (do_the_same(f->rank[r].d, f->rank[k].d))
				nsx_join_sets(of, r, k);
	f->engine = nsx_arena_get(f->arena, f->nranks * sizeof(*f->engine));
	for (uint32_t r = 0; r < f->nranks; r++) {
		struct nsx_fengine *e = &f->engine[f->nengines];

		if (nsx_set_of(of, r) != r || !nsx_has_engine(f->rank[r].d))
			continue;
		e->ranks = nsx_arena_get(f->arena, f->nranks * sizeof(*e->ranks));
		for (uint32_t k = r; k < f->nranks; k++)
			if (nsx_set_of(of, k) == r)
				e->ranks[e->n++] = k;
		f->nengines++;
	}
}

static int list_classes(struct engines *x, struct nsx_err *err)
{
	const struct nsx_fleet *f = x->f;
	size_t n = 0;

	for (uint32_t e = 0; e < f->nengines; e++)
		n += digest_of(f, e)->nkinds;
	if (!nsx_new_array(x->v, x->a, n, "kinds of steps", err))
		return err->rc;
	for (uint32_t e = 0; e < f->nengines; e++)
		for (size_t i = 0; i < digest_of(f, e)->nkinds; i++) {
			const struct nsx_dkind *k = &digest_of(f, e)->kinds[i];

			f->engine[e].nsteps += k->count;
			if (k->count > 0 && k->p50_ns > 0)
				x->v[x->n++] = (struct class){k, e, 0, 0};
		}
	nsx_sort(x->v, x->n, sizeof(*x->v), cmp_class);
	return 0;
}

static double size_of(const struct nsx_dkind *k)
{
	return NSX_MAX(1, (double)k->sizes / (double)k->count);
}

static bool is_of_class(const struct class *x, unsigned kind, int64_t size)
{
	return x->k->kind == kind && x->k->size == size;
}

/* Medians of a class over all engines: mean size, time of a step. False: there are none. */
static bool middle_of_class(const struct engines *x, unsigned kind, int64_t size, double ret[2])
{
	for (unsigned i = 0; i < 2; i++) {
		size_t n = 0;

		for (size_t k = 0; k < x->n; k++)
			if (is_of_class(&x->v[k], kind, size))
				x->scratch[n++] = i ? (double)x->v[k].k->p50_ns : size_of(x->v[k].k);
		if (!n)
			return false;
		ret[i] = nsx_median_of(x->scratch, n);
	}
	return true;
}

/* By what power of the size the time of a step grows near a class. */
static double slope_of(const struct engines *x, const struct nsx_dkind *k)
{
	double here[2], there[2], slope;

	if (k->size < 1 || !middle_of_class(x, k->kind, k->size, here) ||
	    (!middle_of_class(x, k->kind, 2 * k->size, there) &&
	     !middle_of_class(x, k->kind, k->size / 2, there)) || here[0] == there[0])
		return 0;
	slope = log(there[1] / here[1]) / log(there[0] / here[0]);
	return NSX_MAX(0, NSX_MIN(1, slope));
}

/* The median time of a step of class `of` on the other engines that did at least `least` such
 * steps, converted to the mean size of `of`; 0: there are none. [v, v + n): the class on all
 * engines.
 */
static double time_of_others(struct engines *x, const struct class *v, size_t n,
			     const struct class *of, double slope, int64_t least)
{
	size_t there = 0;

	for (size_t o = 0; o < n; o++)
		if (&v[o] != of && v[o].k->count >= least)
			x->scratch[there++] = (double)v[o].k->p50_ns *
				pow(size_of(of->k) / size_of(v[o].k), slope);
	return nsx_median_of(x->scratch, there);
}

/* Finds how long the other engines would take for a step of each class. */
static void expect(struct engines *x)
{
	NSX_EACH_RUN(i, next, x->n, is_of_class(&x->v[next], x->v[i].k->kind, x->v[i].k->size)) {
		const double slope = slope_of(x, x->v[i].k);

		for (struct class *c = &x->v[i]; c < &x->v[next]; c++) {
			c->expected_ns = time_of_others(x, &x->v[i], next - i, c, slope, 1);
			if (c->k->count >= LEAST_COUNT)
				c->sure_ns = time_of_others(x, &x->v[i], next - i, c, slope,
							    LEAST_COUNT);
		}
	}
}

/* Sums, for each engine, those of its classes that other engines have, too. */
static void sum_up(struct engines *x)
{
	for (size_t i = 0; i < x->n; i++) {
		const struct class *c = &x->v[i];
		struct nsx_fengine *e = &x->f->engine[c->engine];
		double n = (double)c->k->count, took_ns = (double)c->k->p50_ns;

		e->all_took_ns += n * took_ns;
		e->all_expected_ns += n * (c->expected_ns > 0 ? c->expected_ns : took_ns);
		if (c->sure_ns <= 0)
			continue;
		e->ncompared += c->k->count;
		e->took_ns += n * took_ns;
		e->expected_ns += n * c->sure_ns;
	}
	for (size_t i = 0; i < x->f->nengines; i++) {
		struct nsx_fengine *e = &x->f->engine[i];

		e->ratio = e->expected_ns > 0 ? e->took_ns / e->expected_ns : 0;
	}
}

enum { RATIO, KERNELS, IDLE /* IDLE + cause: idle time of that cause */ };

/* An engine's ratio, or its kernel or idle time relative to base_ns. */
static double engines_value(const struct nsx_fleet *f, uint32_t e, unsigned what, double base_ns)
{
	const struct nsx_digest *d = digest_of(f, e);
	double ns = 0;

	if (what == RATIO)
		return f->engine[e].ratio;
	for (size_t i = 0; i < d->nfamilies && what == KERNELS; i++)
		ns += (double)d->families[i].total_ns;
	for (size_t i = 0; i < d->nidle && what >= IDLE; i++)
		ns += d->idle[i].cause == what - IDLE ? (double)d->idle[i].ns : 0;
	return ns / base_ns;
}

/* Whether engine y has most of the classes of x, weighted by steps. Engines that prefill and those
 * that decode spend their time differently.
 */
static bool is_like(const struct nsx_digest *x, const struct nsx_digest *y)
{
	int64_t all = 0, common = 0;

	for (size_t i = 0; i < x->nkinds; i++) {
		all += x->kinds[i].count;
		for (size_t k = 0; k < y->nkinds; k++)
			if (x->kinds[i].kind == y->kinds[k].kind &&
			    x->kinds[i].size == y->kinds[k].size)
				common += x->kinds[i].count;
	}
	return 2 * common > all;
}

/* Median of engines_value over the other engines that do like work. *ret_spread: its standard
 * deviation; 0: not known.
 */
static double engines_usual(const struct engines *x, uint32_t but, unsigned what, double *ret_spread)
{
	const struct nsx_fleet *f = x->f;
	double median, spread;
	size_t n = 0;

	for (uint32_t e = 0; e < f->nengines; e++)
		if (e != but && f->engine[e].ratio > 0 && is_like(digest_of(f, but), digest_of(f, e)))
			x->scratch[n++] = engines_value(f, e, what, f->engine[e].all_took_ns);
	spread = NSX_SIGMA * nsx_spread_of(x->scratch, n, &median);
	*ret_spread = n < FEW ? 0 : NSX_MAX(LEAST_SPREAD, spread);
	return median;
}

/* Finds what makes an engine slower: its kernels, else the cause whose idle time grew most. Times
 * of this engine are relative to what the other engines would need for its steps; times of the
 * others, to what their own steps are expected to take.
 */
static void explain_engine(const struct engines *x, uint32_t i)
{
	struct nsx_fengine *e = &x->f->engine[i];
	double usual, spread, most = 0;

	usual = engines_usual(x, i, KERNELS, &spread);
	e->kernel_ratio = usual > 0 ? engines_value(x->f, i, KERNELS, e->all_expected_ns) / usual : 0;
	e->cause = NSX_WHY_UNKNOWN;
	e->idle_cause = NSX_NCAUSES;
	if (usual <= 0)
		return;
	if (2 * (e->kernel_ratio - 1) * usual >= e->ratio - 1) {
		e->cause = NSX_WHY_SLOWER;
		return;
	}
	e->cause = NSX_WHY_IDLE;
	for (unsigned c = 0; c < NSX_NCAUSES; c++) {
		double over = engines_value(x->f, i, IDLE + c, e->all_expected_ns) -
			      engines_usual(x, i, IDLE + c, &spread);

		if (over > most) {
			most = over;
			e->idle_cause = c;
		}
	}
	if (2 * most < e->ratio - 1)
		e->idle_cause = NSX_NCAUSES;
}

int nsx_fleet_engines(struct nsx_fleet *f, struct nsx_err *err)
{
	struct engines x = {.f = f, .a = nsx_arena_new()};
	int rc;

	/* Ranks that are all ranks of a job are one job, not separate engines. */
	if (f->expected < 0 || f->expected != f->nranks || f->numbered != f->nranks)
		list_engines(f, x.a);
	if (f->nengines < 2) {
		f->nengines = 0;
		nsx_arena_free(x.a);
		return 0;
	}
	rc = list_classes(&x, err);
	x.scratch = nsx_arena_get(x.a, (x.n + f->nengines) * sizeof(*x.scratch));
	if (!rc) {
		expect(&x);
		sum_up(&x);
	}
	for (uint32_t e = 0; e < f->nengines && !rc; e++) {
		struct nsx_fengine *y = &f->engine[e];
		double usual = engines_usual(&x, e, RATIO, &y->spread), least;

		least = y->spread > 0 ? LEAST_Z * y->spread : LEAST_SLOWER_OF_FEW;
		y->is_slow = y->ratio > 0 && y->ratio - NSX_MAX(1, usual) >= least;
		if (y->is_slow)
			explain_engine(&x, e);
	}
	nsx_arena_free(x.a);
	return rc;
}
