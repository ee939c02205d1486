/* match_split.c - splits a family into communicators. */
#include <math.h>
#include "base/stat.h"
#include "fleet/match.h"

#define LEAST_NS 4000.0 /* ends closer together than this agree equally well */
#define MUCH_WORSE 2.0 /* relative spread, or share of broken pairs, that rules out groups */
#define WAITS_LONGER 1.2 /* relative length of the shortest times in groups that rules out groups */
#define BEFORE_NS 50000.0 /* greatest distance of two ranks' ends of one collective */
#define CLOCK_NS 100000.0 /* such a distance by two clocks, which err and drift */

static int new_comm(struct nsx_matcher *m, struct nsx_mchannel *const *v, size_t n,
		    bool is_sure, struct nsx_err *err)
{
	struct nsx_fleet *f = m->f;
	const struct nsx_digest *y = f->rank[v[0]->rank].d;
	struct nsx_fcomm *c = nsx_one_more(f->arena, f->comm, f->ncomms,
					   sizeof(*c), "communicators", err);

	if (!c)
		return err->rc;
	f->comm = c;
	c += f->ncomms;
	*c = (struct nsx_fcomm){.family = f->nfamilies, .n = (uint32_t)n, .is_sure = is_sure,
				.is_of_one = y->utc_ns >= 0};
	if (!nsx_new_array(c->m, f->arena, n, "members", err))
		return err->rc;
	for (size_t i = 0; i < n; i++) {
		const struct nsx_digest *x = f->rank[v[i]->rank].d;

		c->m[i] = (struct nsx_fmember){v[i]->rank, v[i]->c, {{0, v[i]->shift}}, 1};
		c->is_of_one &= x->host == y->host && x->utc_ns == y->utc_ns &&
				x->system_ns == y->system_ns;
	}
	f->ncomms++;
	return 0;
}

NSX_POINTER_ORDER(cmp_comm_hash, struct nsx_mchannel, UP(c->comm), UP(rank));

/* A shape that a mesh can have: groups of ranks first + i * stride, i < size. */
struct shape {
	int64_t stride, size;
};

/* The number of a rank's group. */
static int64_t group_at(int64_t number, struct shape s)
{
	return number / (s.stride * s.size) * s.stride + number % s.stride;
}

/* How much later a channel's samples end than those of the longest channel. NAN: the sample is
 * missing.
 */
struct ends {
	double at[NSX_SAMPLES], length[NSX_SAMPLES];
};

/* Removes the drift of a clock from n >= 3 values: subtracts a line through their outer thirds, and
 * the median. Returns the median, which is the offset of the clocks in the middle, where set_clock
 * expects it.
 */
static double level(double *v, size_t n)
{
	double sorted[NSX_SAMPLES], slope = nsx_outer_slope(v, n), middle;

	for (size_t i = 0; i < n; i++)
		sorted[i] = v[i] -= slope * ((double)i - (double)(n - 1) / 2);
	middle = nsx_median_of(sorted, n);
	for (size_t i = 0; i < n; i++)
		v[i] -= middle;
	return middle;
}

static void match_split_find_ends(const struct nsx_mchannel *x, const struct nsx_mchannel *y,
				  struct ends *ret)
{
	size_t samples = NSX_MIN(x->c->n, NSX_SAMPLES);

	for (size_t s = 0; s < NSX_SAMPLES; s++)
		ret->at[s] = NAN;
	for (size_t s = 0; s < samples && x->c->has_times && y->c->has_times; s++) {
		size_t i = x->c->n * s / samples;
		int64_t k = (int64_t)i + x->shift - y->shift;

		if (k < 0 || k >= (int64_t)y->c->n ||
		    nsx_coll_op(x->c, i)->name != nsx_coll_op(y->c, (size_t)k)->name)
			continue;
		ret->at[s] = (double)(nsx_coll_end(y->c, (size_t)k) - nsx_coll_end(x->c, i));
		ret->length[s] = (double)nsx_coll_ns(y->c, (size_t)k);
	}
}

/* How well a shape fits: pairs of ranks that share a group in it but not in its next smaller
 * shape.
 */
struct fit {
	struct shape s;
	double apart;	/* mean logarithm of the distance of their ends */
	size_t npairs;
	size_t nbroken; /* pairs that cannot be of one group */
	double waits;
};

/* How much later x's trace begins by the clocks, if the ranks share a host or their hosts' clocks
 * were compared; NAN: not known.
 */
static double begins_later_ns(const struct nsx_matcher *m, const struct nsx_mchannel *x,
			      const struct nsx_mchannel *y)
{
	uint32_t a = m->f->rank[x->rank].host, b = m->f->rank[y->rank].host;
	bool is_known = a == b || (m->has_clock[a] && m->has_clock[b]);

	return !is_known || x->utc_ns < 0 || y->utc_ns < 0 ? NAN : (double)(x->utc_ns - y->utc_ns);
}

/* Compares the ends of two ranks, without the constant and the drift between their clocks. They are
 * not of one group if one often ended before the other began, or if the clocks put them far apart.
 */
static void match_split_compare(const struct ends *x, const struct ends *y, double later_ns,
				struct fit *ret)
{
	double by[NSX_SAMPLES], constant, sum = 0;
	size_t at[NSX_SAMPLES], n = 0, nbroken = 0;

	for (size_t s = 0; s < NSX_SAMPLES; s++) {
		by[n] = x->at[s] - y->at[s];
		at[n] = s;
		n += !isnan(by[n]);
	}
	if (n < 3)
		return;
	constant = level(by, n);
	for (size_t i = 0; i < n; i++) {
		nbroken += fabs(by[i]) > BEFORE_NS + (by[i] > 0 ? x : y)->length[at[i]];
		sum += log(fabs(by[i]) + LEAST_NS);
	}
	ret->apart += sum / (double)n;
	ret->npairs++;
	ret->nbroken += nbroken > 1 + n / 50 || fabs(constant + later_ns) > CLOCK_NS;
}

/* Rates a shape. Its parts and what joins them must both fit, so the worse of the two counts. */
static void fit_shape(const struct nsx_matcher *m, struct nsx_mchannel *const *v,
		      size_t n, const struct ends *e, const struct fit *all, struct fit *f)
{
	int64_t factor = 2, part, far;
	size_t to = 0;

	while (f->s.size % factor)
		factor++;
	part = f->s.size / factor;
	far = part * f->s.stride;
	for (size_t i = 0; i < n; i++) {
		int64_t number = m->f->rank[v[i]->rank].number;

		if (number / f->s.stride % f->s.size >= f->s.size - part)
			continue;
		while (to < n && m->f->rank[v[to]->rank].number < number + far)
			to++;
		if (to < n && m->f->rank[v[to]->rank].number == number + far)
			match_split_compare(&e[i], &e[to], begins_later_ns(m, v[i], v[to]), f);
	}
	f->apart = f->npairs ? f->apart / (double)f->npairs : 0;
	for (; all < f && part > 1; all++)
		if (all->s.stride == f->s.stride && all->s.size == part) {
			f->apart = NSX_MAX(f->apart, all->apart);
			f->nbroken = NSX_MAX(f->nbroken, all->nbroken);
			f->npairs += all->npairs;
		}
}

/* Steps to the job's next shape, largest groups first; the last has groups of 1. With a
 * known mesh only shapes along its axes count.
 */
static void next_shape(const struct nsx_mesh *mesh, int64_t world, struct shape *s)
{
	do {
		if (++s->stride * s->size > world) {
			s->size--;
			s->stride = 1;
		}
	} while (s->size > 1 && (world % (s->stride * s->size) ||
				 (mesh->n && !nsx_mesh_has(mesh, s->stride, s->size))));
}

/* Rates every shape of the job, in order from small groups to large. */
static struct fit *fit_all(struct nsx_matcher *m, struct nsx_mchannel *const *v,
			   size_t n, int64_t world, struct ends *e, size_t *ret_n)
{
	const struct nsx_mesh any = {0};
	const struct nsx_mchannel *longest = v[0];
	struct shape s, all = {1, world};
	struct fit *ret;
	size_t nfits = 0, at;

	for (size_t i = 0; i < n; i++)
		longest = v[i]->c->n > longest->c->n ? v[i] : longest;
	for (size_t i = 0; i < n; i++)
		match_split_find_ends(longest, v[i], &e[i]);
	for (s = all; s.size > 1; next_shape(&any, world, &s))
		nfits++;
	ret = nsx_arena_get(m->scratch, nfits * sizeof(*ret));
	at = nfits;
	for (s = all; s.size > 1; next_shape(&any, world, &s))
		ret[--at].s = s;
	for (; at < nfits; at++)
		fit_shape(m, v, n, e, ret, &ret[at]);
	*ret_n = nfits;
	return ret;
}

static double broken_share(const struct fit *x)
{
	return x->npairs ? (double)x->nbroken / (double)x->npairs : INFINITY;
}

/* Whether the job can have groups of this shape: along the axes of a given mesh, or within a stage
 * of the pipeline that was found.
 */
static bool is_possible(const struct nsx_mesh *mesh, struct shape s)
{
	const struct nsx_axis *pp = &mesh->axis[0];

	if (!mesh->is_found)
		return !mesh->n || nsx_mesh_has(mesh, s.stride, s.size);
	return s.stride * s.size <= pp->stride || !(s.stride % (pp->stride * pp->size));
}

struct group { /* a group of a shape, by sample */
	int64_t first; /* number of its first rank, which may be missing */
	double least[NSX_SAMPLES]; /* shortest time of its members; NAN: not all of them are there */
	double end[NSX_SAMPLES];   /* mean end; members' clocks differ */
	uint32_t there[NSX_SAMPLES];
	uint32_t n; /* members; one alone is no group */
};

static void add_to_group(struct group *g, const struct ends *e)
{
	for (size_t at = 0; at < NSX_SAMPLES; at++) {
		uint32_t k = g->there[at];

		if (isnan(e->at[at]))
			continue;
		g->least[at] = k ? NSX_MIN(g->least[at], e->length[at]) : e->length[at];
		g->end[at] = (g->end[at] * k + e->at[at]) / (k + 1);
		g->there[at]++;
		g->n = NSX_MAX(g->n, g->there[at]);
	}
}

/* Lists the groups of a shape, and finds the mean logarithm of their shortest times: the last rank
 * of a group waits for nobody, and if all do, they wait for one of another group. Returns how many.
 */
static size_t find_groups(const struct nsx_matcher *m, struct nsx_mchannel *const *v, size_t n,
			  const struct ends *e, struct fit *f, struct group *ret)
{
	struct shape s = f->s;
	uint32_t *place = nsx_arena_get(m->scratch, (size_t)(nsx_fleet_world(m->f) / s.size) *
						    sizeof(*place)); /* index + 1 */
	size_t ngroups = 0, all = 0;

	f->waits = 0;
	for (size_t i = 0; i < n; i++) {
		int64_t g = group_at(m->f->rank[v[i]->rank].number, s);

		if (!place[g]) {
			memset(&ret[ngroups], 0, sizeof(*ret));
			ret[ngroups].first = g / s.stride * s.stride * s.size + g % s.stride;
			place[g] = (uint32_t)++ngroups;
		}
		add_to_group(&ret[place[g] - 1], &e[i]);
	}
	for (struct group *g = ret; g < ret + ngroups; g++)
		for (size_t at = 0; at < NSX_SAMPLES; at++)
			if (g->n < 2 || g->there[at] < g->n) {
				g->least[at] = NAN;
			} else {
				f->waits += log(g->least[at] + LEAST_NS);
				all++;
			}
	f->waits /= (double)NSX_MAX(1, all);
	return ngroups;
}

/* Adds the distance between the ends of two groups, relative to the distance between their shortest
 * times (means of logarithms). Ends of one collective agree whoever came last, but its shortest
 * times need not. Two collectives take equally long, but end at different times.
 */
static void compare_groups(const struct group *x, const struct group *y, double *sum,
			   size_t *npairs)
{
	double by[2][NSX_SAMPLES];
	size_t n = 0;

	for (size_t at = 0; at < NSX_SAMPLES; at++) {
		by[0][n] = x->end[at] - y->end[at];
		by[1][n] = x->least[at] - y->least[at];
		n += !isnan(by[1][n]);
	}
	if (n < 3)
		return;
	level(by[0], n);
	level(by[1], n);
	for (size_t i = 0; i < n; i++)
		*sum += (log(fabs(by[0][i]) + LEAST_NS) - log(fabs(by[1][i]) + LEAST_NS)) / (double)n;
	++*npairs;
}

/* The mean of compare_groups over neighbouring groups that lie in one group of a larger shape.
 * Above 0 the larger group holds several collectives.
 */
static double ends_apart(const struct nsx_matcher *m, struct shape s, const struct group *g,
			 size_t n)
{
	enum { MOST_PAIRS = 64 };
	size_t nwhole = (size_t)(nsx_fleet_world(m->f) / s.size), npairs = 0;
	const struct group **before = nsx_arena_get(m->scratch, nwhole * sizeof(*before));
	double sum = 0;

	for (size_t i = 0; i < n && npairs < MOST_PAIRS; i++) {
		const struct group **last = &before[group_at(g[i].first, s)];

		if (*last)
			compare_groups(*last, &g[i], &sum, &npairs);
		*last = &g[i];
	}
	return sum / (double)NSX_MAX(1, npairs);
}

/* The shape of the single collectives, if each group of this shape holds several; otherwise the
 * shape itself.
 */
static struct shape parts_of(const struct nsx_matcher *m, struct nsx_mchannel *const *v, size_t n,
			     const struct ends *e, struct fit *fit, size_t nfits, struct shape s,
			     struct group *g)
{
	double most = log(WAITS_LONGER);
	struct shape ret = s;

	for (struct fit *x = fit; x < fit + nfits; x++) {
		double several;

		if (x->s.size == s.size || x->s.stride % s.stride ||
		    s.stride * s.size % (x->s.stride * x->s.size))
			continue;
		several = ends_apart(m, s, g, find_groups(m, v, n, e, x, g));
		ret = several > most ? x->s : ret;
		most = NSX_MAX(most, several);
	}
	return ret.size == s.size ? s : parts_of(m, v, n, e, fit, nfits, ret, g);
}

/* Picks the largest groups whose ends agree about as well as any, with the fewest contradictions,
 * and whose members wait for each other; if these are several collectives, their parts. A rank may
 * agree better with some of its group than with others.
 */
static struct shape shape_of(struct nsx_matcher *m, struct nsx_mchannel *const *v, size_t n)
{
	int64_t world = NSX_MAX(1, nsx_fleet_world(m->f));
	struct fit best = {.s = {1, world}}, *fit;
	struct ends *e = nsx_arena_get(m->scratch, n * sizeof(*e));
	struct group *g = nsx_arena_get(m->scratch, n * sizeof(*g));
	double least_broken = INFINITY, least = INFINITY, shortest = INFINITY;
	size_t nfits, kept = 0;

	if (n < 3)
		return best.s;
	fit = fit_all(m, v, n, world, e, &nfits);
	for (size_t i = 0; i < nfits; i++)
		least_broken = NSX_MIN(least_broken, broken_share(&fit[i]));
	for (size_t i = 0; i < nfits; i++)
		if (broken_share(&fit[i]) <= MUCH_WORSE * least_broken)
			least = NSX_MIN(least, fit[i].apart);
	for (size_t i = 0; i < nfits; i++)
		if (broken_share(&fit[i]) <= MUCH_WORSE * least_broken &&
		    fit[i].apart <= least + log(MUCH_WORSE) && is_possible(&m->f->mesh, fit[i].s))
			fit[kept++] = fit[i];
	for (size_t i = 0; i < kept; i++) {
		(void)find_groups(m, v, n, e, &fit[i], g);
		shortest = NSX_MIN(shortest, fit[i].waits);
	}
	for (const struct fit *x = fit; x < fit + kept; x++)
		if (x->waits <= shortest + log(WAITS_LONGER) &&
		    (!best.npairs || x->s.size > best.s.size || x->apart < best.apart))
			best = *x;
	if (best.npairs)
		best.s = parts_of(m, v, n, e, fit, kept, best.s, g);
	nsx_arena_clear(m->scratch);
	return best.s;
}

NSX_POINTER_ORDER(cmp_group, struct nsx_mchannel, UP(group), UP(rank));

/* Whether some communicator has the same members. */
static bool is_known(const struct nsx_fleet *f, struct nsx_mchannel *const *v, size_t n)
{
	for (uint32_t i = 0; i < f->ncomms; i++) {
		const struct nsx_fcomm *c = &f->comm[i];
		uint32_t k = 0;

		while (c->n == n && k < n && c->m[k].rank == v[k]->rank)
			k++;
		if (c->n == n && k == n)
			return true;
	}
	return false;
}

/* Whether the parts of all members end together in nearly all collectives. In a ring, those of the
 * members that are not next to a late one end earlier.
 */
static bool end_together(const struct nsx_fleet *f, struct nsx_mchannel *const *v, size_t n)
{
	enum { MOST_APART = NSX_SAMPLES / 20 };
	int64_t from = 0, to = INT64_MAX;
	unsigned napart = 0;

	for (size_t i = 0; i < n; i++) {
		from = NSX_MAX(from, v[i]->shift);
		to = NSX_MIN(to, v[i]->shift + (int64_t)v[i]->c->n);
	}
	for (int64_t s = 0; s < NSX_SAMPLES && from < to && v[0]->c->has_times; s++) {
		int64_t k = from + (to - from) * s / NSX_SAMPLES;
		double first = INFINITY, last = -INFINITY;

		for (size_t i = 0; i < n; i++) {
			double end = nsx_common_ns(f, v[i]->rank, nsx_coll_end(
				v[i]->c, (size_t)(k - v[i]->shift)));

			first = NSX_MIN(first, end);
			last = NSX_MAX(last, end);
		}
		napart += last - first > NSX_TOGETHER_NS / 2;
	}
	return napart <= MOST_APART;
}

/* Makes sends and receives hold all members if more than two ranks end together, as in an alltoall.
 * Tensor-parallel neighbours that each send to another stage also end together; they already have a
 * communicator.
 */
static void hold_all(struct nsx_matcher *m, struct nsx_mchannel *const *v, size_t n)
{
	if (n < 3 || !nsx_is_of_pairs(v[0]->c) || is_known(m->f, v, n) || !end_together(m->f, v, n))
		return;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < v[i]->c->nops; k++)
			v[i]->c->ops[k].holds = UINT32_MAX;
}

int nsx_match_split(struct nsx_matcher *m, struct nsx_err *err)
{
	struct nsx_mchannel **v = m->in;
	size_t n = m->nin, nknown = 0, k;
	int64_t world = NSX_MAX(1, nsx_fleet_world(m->f));
	struct shape s;

	nsx_sort(v, n, sizeof(*v), cmp_comm_hash); /* unknown ones first */
	while (nknown < n && v[n - nknown - 1]->c->comm)
		nknown++;
	for (size_t i = 0; i < n; i++)
		v[i]->group = v[i]->c->comm;
	s = nknown < n && v[0]->c->has_times ? shape_of(m, v, n - nknown) :
			(struct shape){1, world};
	for (size_t i = 0; i < n - nknown; i++)
		v[i]->group = (uint64_t)group_at(m->f->rank[v[i]->rank].number, s);
	nsx_sort(v, n - nknown, sizeof(*v), cmp_group);
	for (size_t at = 0; at < n; at += k) {
		for (k = 1; at + k < n && v[at + k]->group == v[at]->group; k++)
			;
		hold_all(m, v + at, k);
		if (new_comm(m, v + at, k, v[at]->c->comm || world == 2, err))
			return err->rc;
	}
	return 0;
}
