/* steps.c - aligns the steps of all ranks and finds each rank's own time.
 *
 * A rank's iteration begins before some collective of the main family. A step of the fleet
 * begins at a collective on which most ranks agree. Time is then measured between common
 * ends, on each rank's own clock. Own time is a step's time without exposed collectives and
 * without MPI calls that wait for messages.
 *
 * Common ends are missing in digests without times of collectives and for sends and
 * receives between unknown ranks. Then (by_totals) a step lasts from the start of a rank's
 * iteration to the start of the next, and exposed communication is that of the iteration.
 */
#include <math.h>
#include "base/group.h"
#include "base/span.h"
#include "base/stat.h"
#include "fleet/fleet.h"

#define LONG 3 /* a first or last step longer than this many medians is start-up or shutdown */

struct lane { /* a rank */
	const struct nsx_fmember *m; /* in the main family; NULL: it is not there */
	size_t *at; /* by iteration: the collective at which it begins */
};
struct steps {
	struct nsx_fleet *f;
	struct lane *v; /* by rank */
	bool all_iterate; /* all ranks of the main family have iterations */
	struct nsx_arena *a;
};

/* The main family ------------------------------------------------------------------*/

static double time_of(const struct nsx_fleet *f, const struct nsx_family *fam)
{
	double sum = 0;

	for (uint32_t c = fam->at; c < fam->at + fam->n; c++)
		for (uint32_t m = 0; m < f->comm[c].n; m++) {
			const struct nsx_dchannel *ch = f->comm[c].m[m].c;

			for (size_t k = 0; ch->has_times && k < ch->n; k++)
				sum += (double)nsx_coll_ns(ch, k);
		}
	return sum;
}

/* Whether a family consists of sends and receives for which it is unknown who waits for
 * whom. They have no common ends.
 */
static bool is_of_unknown_pairs(const struct nsx_fleet *f, const struct nsx_family *fam)
{
	return nsx_is_of_unknown_pairs(&f->comm[fam->at]) ||
	       nsx_is_of_neighbours(&f->comm[fam->at]);
}

/* The number of ranks of a family that certainly begin and end together. Ranks whose sends and
 * receives end together may be those of several alltoalls at the same time, so of these only two
 * are certain.
 */
static uint32_t count_surely_together(const struct nsx_fleet *f, const struct nsx_family *fam)
{
	const struct nsx_fcomm *c = &f->comm[fam->at];

	return c->is_sure || !c->m->c->n || strcmp(c->m->c->ops[0].name, "sendrecv") != 0 ?
		       fam->most : NSX_MIN(fam->most, 2);
}

/* The number of groups of hosts that a family's communicators connect. The k-th collectives of one
 * group happen at the same time. Those of different groups are aligned only as well as clocks are
 * known. Sends and receives connect no hosts. in: room for all hosts.
 */
static uint32_t count_clocks(const struct nsx_fleet *f, const struct nsx_family *x, uint32_t *in)
{
	uint32_t n = f->nhosts;

	for (uint32_t h = 0; h < f->nhosts; h++)
		in[h] = h;
	for (uint32_t i = 0; i < x->n; i++) {
		const struct nsx_fcomm *c = &f->comm[x->at + i];

		for (uint32_t m = 1; m < c->n && !nsx_is_of_pairs(c->m->c); m++)
			n -= nsx_join_sets(in, f->rank[c->m->rank].host,
					   f->rank[c->m[m].rank].host);
	}
	return n;
}

/* Prefers, of families with equally many ranks, one whose communicators connect more hosts, then the
 * largest communicator, then the most ranks, then the most time.
 */
static bool is_preferred(const struct nsx_fleet *f, const struct nsx_family *x,
			 const struct nsx_family *best)
{
	int by_size = !best ? 1 :
		      (x->nranks == best->nranks ?
			       NSX_CMP(best->nclocks, x->nclocks) : 0) ?:
		      NSX_CMP(count_surely_together(f, x), count_surely_together(f, best)) ?:
			      NSX_CMP(x->nranks, best->nranks);

	return by_size > 0 || (!by_size && time_of(f, x) > time_of(f, best));
}

/* Prefers a family with common ends unless one without them has more ranks. is_out: by family, those
 * that are not considered.
 */
static void choose_main(struct nsx_fleet *f, const bool *is_out, struct nsx_arena *a)
{
	const struct nsx_family *best[2] = {NULL}; /* [0]: without common ends, [1]: with them */
	uint32_t *in = nsx_arena_get(a, f->nhosts * sizeof(*in));

	for (size_t i = 0; i < f->nfamilies; i++) {
		struct nsx_family *x = &f->family[i];
		bool has_ends = !is_of_unknown_pairs(f, x);

		x->nclocks = count_clocks(f, x, in);
		if (!is_out[i] && (has_ends ? x->most : x->nranks) > 1 && is_preferred(f, x, best[has_ends]))
			best[has_ends] = x;
	}
	if (!best[1] || (best[0] && best[0]->nranks > best[1]->nranks))
		best[1] = best[0];
	f->main = best[1] ? (uint32_t)(best[1] - f->family) : NSX_NONE;
}

/* Notes, for each rank that has none yet, its member of these communicators. */
static void steps_list_members(struct steps *x, uint32_t at, uint32_t n)
{
	for (const struct nsx_fcomm *c = &x->f->comm[at]; n--; c++)
		for (uint32_t m = 0; m < c->n; m++)
			x->v[c->m[m].rank].m = x->v[c->m[m].rank].m ?: &c->m[m];
}

/* Boundaries ---------------------------------------------------------------------------*/

/* k of the first collective that begins at or after t; SIZE_MAX: none. */
static size_t first_after(const struct nsx_fmember *m, int64_t t)
{
	size_t lo = NSX_SEARCH((size_t)0, m->c->n, mid, nsx_coll_start(m->c, mid) < t);

	return lo == m->c->n ? SIZE_MAX : (size_t)((int64_t)lo + m->piece[0].shift);
}

/* Counts, for each k, the ranks that have a step beginning there. Returns the number of
 * ranks with steps.
 */
static uint32_t vote(const struct steps *x, uint32_t *votes, size_t length)
{
	uint32_t voters = 0;

	for (uint32_t r = 0; r < x->f->nranks; r++) {
		size_t n = x->v[r].m ? x->f->rank[r].d->nsteps : 0;
		const size_t *at = x->v[r].at;

		voters += n > 1;
		for (size_t i = 0; i < n; i++)
			if (at[i] < length && (!i || at[i] != at[i - 1]))
				votes[at[i]]++;
	}
	return voters;
}

/* The least period of the operations of the longest member; 0: none. */
static size_t period_of(const struct steps *x)
{
	const struct nsx_dchannel *c = NULL;

	for (uint32_t r = 0; r < x->f->nranks; r++)
		if (x->v[r].m && (!c || x->v[r].m->c->n > c->n))
			c = x->v[r].m->c;
	for (size_t p = 1; c && p <= NSX_MIN(c->n / 4, 4096); p++) {
		size_t same = 0;

		for (size_t i = p; i < c->n; i++)
			same += nsx_coll_code(c, i) == nsx_coll_code(c, i - p);
		if (same * 20 >= (c->n - p) * 19)
			return p;
	}
	return 0;
}

static int steps_add_step(struct nsx_fleet *f, size_t first, struct nsx_err *err)
{
	struct nsx_fstep *v = nsx_one_more(f->arena, f->step, f->nsteps, sizeof(*v), "steps", err);

	if (!v)
		return err->rc;
	f->step = v;
	if (f->nsteps)
		f->step[f->nsteps - 1].end = first;
	f->step[f->nsteps++] = (struct nsx_fstep){first, first, 0};
	return 0;
}

/* How many places a step can begin at: collectives or, by_totals, iterations. Clocks that are far
 * off give iterations too great numbers, so there are at most as many as all ranks have together.
 */
static size_t count_places(const struct steps *x)
{
	const struct nsx_fleet *f = x->f;
	size_t most = 0, all = 0;

	if (!f->by_totals)
		return f->family[f->main].length;
	for (uint32_t r = 0; r < f->nranks; r++) {
		size_t n = x->v[r].m ? f->rank[r].d->nsteps : 0;

		all += n;
		most = n ? NSX_MAX(most, x->v[r].at[n - 1] + 1) : most;
	}
	return NSX_MIN(most, all);
}

/* Begins a step at every k on which more than half of the ranks with steps agree. */
static int find_steps(struct steps *x, struct nsx_err *err)
{
	struct nsx_fleet *f = x->f;
	size_t length = count_places(x);
	uint32_t *votes, voters;
	int rc = 0;

	if (!nsx_new_array(votes, x->a, length + 1, "collectives", err))
		return err->rc;
	voters = vote(x, votes, length);
	f->nsteps = 0;
	for (size_t k = 0; voters && k < length && !rc; k++)
		if (votes[k] * 2 > voters)
			rc = steps_add_step(f, k, err);
	if (!rc && f->nsteps < 3 && !f->by_totals && !x->all_iterate) {
		size_t period = period_of(x);

		f->nsteps = 0;
		f->steps_are_colls = true;
		for (size_t k = 0; period && k < length && !rc; k += period)
			rc = steps_add_step(f, k, err);
	}
	/* the last step has no known end */
	f->nsteps -= f->nsteps > 0;
	return rc;
}

/* Times ----------------------------------------------------------------------------------*/

/* The instant at k: the end of the collective before it or, by_totals, the start of the iteration.
 * INT64_MIN: the rank lacks it.
 */
static int64_t instant_at(const struct steps *x, uint32_t r, size_t k)
{
	const struct nsx_digest *d = x->f->rank[r].d;
	const struct lane *v = &x->v[r];
	struct nsx_coll c;
	size_t i;

	if (!v->m)
		return INT64_MIN;
	if (!x->f->by_totals)
		return k && nsx_coll_at(v->m, k - 1, &c) ? nsx_end_of(&c) : INT64_MIN;
	i = NSX_SEARCH((size_t)0, d->nsteps, mid, v->at[mid] < k);
	return i < d->nsteps && v->at[i] == k ? d->steps[i].start_ns : INT64_MIN;
}

/* Finds where the steps of each rank begin and end. Step s of rank r is [bound[s], bound[s + 1]):
 * from the end of the collective before it to the end of its last one.
 */
static int find_bounds(const struct steps *x, struct nsx_err *err)
{
	struct nsx_fleet *f = x->f;
	size_t n = f->nsteps + 1;

	if (!nsx_new_array(f->bound_ns, f->arena, n * f->nranks, "steps of ranks", err))
		return err->rc;
	for (uint32_t r = 0; r < f->nranks; r++)
		for (size_t s = 0; s < n; s++)
			*nsx_bounds_of(f, r, s) = instant_at(x, r, !f->nsteps ? 0 :
				s < f->nsteps ? f->step[s].first : f->step[s - 1].end);
	return 0;
}

static bool has_step(const struct nsx_fleet *f, uint32_t r, size_t s)
{
	const int64_t *b = nsx_bounds_of(f, r, s);

	return b[0] != INT64_MIN && b[1] != INT64_MIN && b[1] > b[0];
}

/* Median length of a step over the ranks that have it whole, and the number of these ranks.
 * scratch: room for all ranks.
 */
static double median_wall(const struct nsx_fleet *f, size_t s, double *scratch, size_t *ret_n)
{
	*ret_n = 0;
	for (uint32_t r = 0; r < f->nranks; r++)
		if (has_step(f, r, s)) {
			const int64_t *b = nsx_bounds_of(f, r, s);

			scratch[(*ret_n)++] = (double)(b[1] - b[0]);
		}
	return nsx_median_of(scratch, *ret_n);
}

/* Keeps the steps [first, end). */
static void keep_steps(struct nsx_fleet *f, size_t first, size_t end)
{
	size_t n = f->nsteps + 1, kept = end - first;

	for (uint32_t r = 0; r < f->nranks && kept; r++)
		memmove(f->bound_ns + r * (kept + 1), f->bound_ns + r * n + first, (kept + 1) * 8);
	if (kept)
		memmove(f->step, f->step + first, kept * sizeof(*f->step));
	f->nsteps = kept;
}

/* Keeps the steps from the first to the last that more than half of the ranks saw whole, without
 * first and last ones longer than LONG medians: start-up and shutdown.
 */
static int drop_edges(struct nsx_fleet *f, struct nsx_err *err)
{
	size_t first = f->nsteps, end = 0, all;
	double *wall = nsx_try_alloc(f->nsteps + f->nranks, sizeof(*wall), "steps", err), most;

	if (!wall)
		return err->rc;
	for (size_t s = 0; s < f->nsteps; s++) {
		size_t there;

		wall[s] = median_wall(f, s, wall + f->nsteps, &there);
		f->step[s].wall_ns = (int64_t)wall[s];
		if (there * 2 <= f->family[f->main].nranks || there < 2)
			continue;
		first = NSX_MIN(first, s);
		end = s + 1;
	}
	first = NSX_MIN(first, end);
	all = end - first;
	most = LONG * nsx_median_of(wall + first, all);
	free(wall);
	while (first < end && (double)f->step[first].wall_ns > most)
		first++;
	while (end > first && (double)f->step[end - 1].wall_ns > most)
		end--;
	keep_steps(f, first, end);
	all -= f->nsteps;
	if (all)
		nsx_fleet_warn(f, "%zu step%s at the beginning or the end took more than three "
			       "times the median: not judged", all, all == 1 ? "" : "s");
	for (size_t s = 0; s < f->nsteps; s++)
		f->step_ns += (double)f->step[s].wall_ns / (double)f->nsteps;
	return 0;
}

/* Lists when collectives of a rank are exposed. Time counts once when several streams
 * communicate, as with the receives of a pipeline.
 */
static int list_exposed(const struct nsx_digest *d, struct nsx_spans *ret, struct nsx_err *err)
{
	size_t n = 0;

	for (size_t c = 0; c < d->nchannels; c++)
		n += d->channels[c].has_times ? d->channels[c].n : 0;
	*ret = (struct nsx_spans){.v = nsx_try_alloc(n, sizeof(*ret->v),
						     "collectives", err)};
	for (size_t k = 0; ret->v && k < d->nchannels; k++) {
		const struct nsx_dchannel *c = &d->channels[k];

		for (size_t i = 0; c->has_times && i < c->n; i++) {
			int64_t end = nsx_coll_end(c, i);
			int64_t ns = nsx_coll_exposed_ns(c, i);

			if (ns > 0)
				ret->v[ret->n++] = (struct nsx_span){end - ns, end};
		}
	}
	nsx_spans_normalise(ret);
	return ret->v ? 0 : err->rc;
}

/* Subtracts exposed communication from the steps' time. */
static void subtract_exposed(const struct nsx_fleet *f, uint32_t r, const struct nsx_spans *exposed)
{
	const int64_t *b = f->nsteps ? nsx_bounds_of(f, r, 0) : NULL;
	size_t s = 0;

	for (size_t i = 0; i < exposed->n; i++) {
		const struct nsx_span x = exposed->v[i];

		while (s < f->nsteps && (b[s + 1] == INT64_MIN || b[s + 1] <= x.start_ns))
			s++;
		for (size_t k = s; k < f->nsteps; k++) {
			double *own = &f->own_ns[k * f->nranks + r];

			if (b[k] != INT64_MIN && b[k] >= x.end_ns)
				break;
			if (!isnan(*own))
				*own -= (double)(NSX_MIN(x.end_ns, b[k + 1]) -
						 NSX_MAX(x.start_ns, b[k]));
		}
	}
}

/* Finds each rank's own time in each step: the step without its exposed communication. Exposed
 * spans are subtracted one by one. A receive that was posted long before it is needed is exposed
 * only in part, and the digest does not say when. So if it is unknown who sends to whom, the total
 * of the iteration is subtracted instead.
 */
static int find_own(const struct steps *x, struct nsx_err *err)
{
	struct nsx_fleet *f = x->f;
	bool by_iteration = f->by_totals;

	for (uint32_t i = 0; x->all_iterate && i < f->nfamilies; i++)
		by_iteration |= is_of_unknown_pairs(f, &f->family[i]);
	if (!nsx_new_array(f->own_ns, f->arena, f->nsteps * f->nranks, "steps of ranks", err))
		return err->rc;
	for (uint32_t r = 0; r < f->nranks; r++) {
		struct nsx_spans exposed;

		for (size_t s = 0; s < f->nsteps; s++) {
			const int64_t *b = nsx_bounds_of(f, r, s);
			const struct nsx_dstep *part = f->part[s * f->nranks + r];
			double *own = &f->own_ns[s * f->nranks + r];

			*own = has_step(f, r, s) ? (double)(b[1] - b[0]) : NAN;
			if (by_iteration)
				*own -= part ? (double)(part->mpi_ns +
					part->part_ns[NSX_P_COMM_EXPOSED]) : NAN;
		}
		if (by_iteration)
			continue;
		if (list_exposed(f->rank[r].d, &exposed, err))
			return err->rc;
		subtract_exposed(f, r, &exposed);
		free(exposed.v);
	}
	return 0;
}

/* Assigns iterations to steps: the one that begins at the step's first collective or near it. */
static int steps_find_parts(const struct steps *x, struct nsx_err *err)
{
	struct nsx_fleet *f = x->f;

	if (!nsx_new_array(f->part, f->arena, f->nsteps * f->nranks, "steps of ranks", err))
		return err->rc;
	for (uint32_t r = 0; r < f->nranks && f->nsteps; r++) {
		struct nsx_digest *d = f->rank[r].d;
		size_t s = 0;

		for (size_t i = 0; x->v[r].m && i < d->nsteps; i++) {
			size_t k = x->v[r].at[i], slack;

			while (s + 1 < f->nsteps && f->step[s + 1].first <= k)
				s++;
			slack = (f->step[s].end - f->step[s].first) / 4;
			if (k >= f->step[s].first && k <= f->step[s].first + slack)
				f->part[s * f->nranks + r] = &d->steps[i];
			else if (s + 1 < f->nsteps && k + slack >= f->step[s + 1].first)
				f->part[(s + 1) * f->nranks + r] = &d->steps[i];
		}
	}
	return 0;
}

/* Index of rank a's iteration that begins nearest to rank b's middle one, by the aligned
 * clocks, minus the index of b's; 0 without clocks or iterations.
 */
static int64_t shift_by_clock(const struct nsx_fleet *f, uint32_t a, uint32_t b)
{
	const struct nsx_digest *x = f->rank[a].d, *y = f->rank[b].d;
	size_t i = y->nsteps / 2, at;
	double t;

	if (x->utc_ns < 0 || y->utc_ns < 0 || !x->nsteps || !y->nsteps)
		return 0;
	t = nsx_common_ns(f, b, y->steps[i].start_ns);
	at = NSX_SEARCH((size_t)0, x->nsteps, mid, nsx_common_ns(f, a, x->steps[mid].start_ns) < t);
	if (at && (at == x->nsteps || t - nsx_common_ns(f, a, x->steps[at - 1].start_ns) <
					      nsx_common_ns(f, a, x->steps[at].start_ns) - t))
		at--;
	return (int64_t)at - (int64_t)i;
}

/* Aligns iterations by the clocks, as there are no common ends; errors up to half an
 * iteration do no harm. From here on k counts iterations.
 */
static void place_by_clock(const struct steps *x)
{
	const struct nsx_fleet *f = x->f;
	uint32_t first = NSX_NONE;
	int64_t least = 0;

	for (uint32_t r = 0; r < f->nranks; r++)
		if (x->v[r].m && f->rank[r].d->nsteps) {
			first = NSX_MIN(first, r);
			least = NSX_MIN(least, shift_by_clock(f, first, r));
		}
	for (uint32_t r = 0; r < f->nranks && first != NSX_NONE; r++) {
		size_t from = (size_t)(shift_by_clock(f, first, r) - least);

		for (size_t i = 0; x->v[r].m && i < f->rank[r].d->nsteps; i++)
			x->v[r].at[i] = from + i;
	}
}

/* Finds the collective at which each iteration of each rank begins. Without times, the
 * iteration's count of earlier collectives gives it.
 */
static int place_iterations(const struct steps *x, struct nsx_err *err)
{
	for (uint32_t r = 0; r < x->f->nranks; r++) {
		const struct nsx_digest *d = x->f->rank[r].d;
		const struct nsx_fmember *m = x->v[r].m;

		if (!m)
			continue;
		if (!nsx_new_array(x->v[r].at, x->a, d->nsteps, "iterations", err))
			return err->rc;
		for (size_t i = 0; i < d->nsteps; i++)
			x->v[r].at[i] = m->c->has_times ? first_after(m, d->steps[i].start_ns) :
				(size_t)(d->steps[i].colls + m->piece[0].shift);
	}
	if (x->f->by_totals)
		place_by_clock(x);
	return 0;
}

/* Whether a communicator's ranks are neighbours in a pipeline; those of one stage exchange borders. */
static bool is_of_pipeline(const struct nsx_fcomm *c)
{
	return c->n == 2 && c->is_sure && nsx_is_of_pairs(c->m->c) && !c->m->c->is_exchange;
}

static int64_t pipe_number(const struct nsx_fleet *f, const struct nsx_fcomm *c, uint32_t m)
{
	return f->rank[c->m[m].rank].number;
}

/* Finds the axis along which all pipelines lie; first: by rank, the first rank of its pipeline.
 * False: they do not lie along one.
 */
static bool find_axis(const struct nsx_fleet *f, const uint32_t *first, struct nsx_axis *ret)
{
	int64_t by = INT64_MAX, size = 1;

	for (uint32_t i = 0; i < f->ncomms; i++)
		if (is_of_pipeline(&f->comm[i]))
			by = NSX_MIN(by, llabs(pipe_number(f, &f->comm[i], 1) -
					       pipe_number(f, &f->comm[i], 0)));
	for (uint32_t r = 0; r < f->nranks; r++)
		size = NSX_MAX(size, (f->rank[r].number - f->rank[first[r]].number) / by + 1);
	*ret = (struct nsx_axis){"pp", size, by};
	for (uint32_t i = 0; i < f->ncomms; i++) {
		const struct nsx_fcomm *c = &f->comm[i];
		int64_t x, y, apart;

		if (!is_of_pipeline(c))
			continue;
		x = pipe_number(f, c, 0);
		y = pipe_number(f, c, 1);
		apart = llabs(nsx_mesh_at(ret, x) - nsx_mesh_at(ret, y));
		if (x % by != y % by || x / (by * size) != y / (by * size) ||
		    (apart != 1 && apart != size - 1))
			return false;
	}
	return true;
}

/* Finds the stages of pipelines: ranks that are connected by sends and receives, in order of number.
 * Stages do different work before their n-th transfer, so equals are of one stage.
 */
static void find_stages(struct nsx_fleet *f)
{
	/* by rank: the first one of its pipeline */
	uint32_t *first = nsx_arena_get(f->arena, f->nranks * sizeof(*first));
	uint32_t npipelines = f->nranks;
	struct nsx_axis pp;
	bool is_regular, is_mpi = false;

	f->stage = nsx_arena_get(f->arena, f->nranks * sizeof(*f->stage));
	for (uint32_t r = 0; r < f->nranks; r++)
		first[r] = r;
	for (uint32_t i = 0; i < f->ncomms; i++) {
		const struct nsx_fcomm *c = &f->comm[i];

		if (!is_of_pipeline(c))
			continue;
		is_mpi |= c->m->c->is_mpi;
		npipelines -= nsx_join_sets(first, c->m[0].rank, c->m[1].rank);
	}
	for (uint32_t r = 0; r < f->nranks; r++)
		first[r] = nsx_set_of(first, r);
	f->has_stages = npipelines > 1 && npipelines < f->nranks;
	is_regular = f->has_stages && find_axis(f, first, &pp);
	for (uint32_t r = 0; r < f->nranks && f->has_stages; r++)
		for (uint32_t i = 0; i < r && !is_regular; i++)
			f->stage[r] += first[i] == first[r];
	for (uint32_t r = 0; r < f->nranks && is_regular; r++)
		f->stage[r] = (uint32_t)nsx_mesh_at(&pp, f->rank[r].number);
	if (is_regular && !is_mpi && !f->mesh.n)
		f->mesh = (struct nsx_mesh){.axis = {pp}, .n = 1, .is_found = true};
}

static int place_steps(struct steps *x, struct nsx_err *err)
{
	if (x->f->by_totals) /* ranks of other families are compared as well */
		steps_list_members(x, 0, x->f->ncomms);
	return place_iterations(x, err) ?: find_steps(x, err);
}

/* Finds the steps by the collectives of the main family. */
static int steps_by_main(struct steps *x, bool *ret_is_timed, struct nsx_err *err)
{
	struct nsx_fleet *f = x->f;
	const struct nsx_family *fam = &f->family[f->main];

	for (uint32_t r = 0; r < f->nranks; r++)
		x->v[r].m = NULL;
	steps_list_members(x, fam->at, fam->n);
	*ret_is_timed = false;
	x->all_iterate = true;
	for (uint32_t r = 0; r < f->nranks; r++)
		if (x->v[r].m) {
			*ret_is_timed |= x->v[r].m->c->has_times;
			x->all_iterate &= f->rank[r].d->nsteps >= 3;
		}
	f->by_totals = !*ret_is_timed || (x->all_iterate && is_of_unknown_pairs(f, fam));
	return place_steps(x, err);
}

/* Finds the steps by the collectives of the most suitable family whose communicators are aligned
 * with each other; if there is none, by iterations.
 */
static int find_main_steps(struct steps *x, bool *ret_is_timed, struct nsx_err *err)
{
	struct nsx_fleet *f = x->f;
	bool *is_out = nsx_arena_get(x->a, f->nfamilies * sizeof(*is_out));
	uint32_t first;

	choose_main(f, is_out, x->a);
	for (first = f->main; f->main != NSX_NONE; choose_main(f, is_out, x->a)) {
		if (steps_by_main(x, ret_is_timed, err))
			return err->rc;
		if (f->nsteps > 1 || !x->all_iterate || f->by_totals)
			return 0;
		is_out[f->main] = true;
	}
	f->main = first;
	f->by_totals = first != NSX_NONE;
	return f->by_totals ? place_steps(x, err) : 0;
}

int nsx_fleet_steps(struct nsx_fleet *f, struct nsx_err *err)
{
	struct steps x = {.f = f, .a = nsx_arena_new(), .all_iterate = true};
	bool is_timed = false;
	int rc = 0;

	x.v = nsx_arena_get(x.a, f->nranks * sizeof(*x.v));
	find_stages(f);
	if (!f->nengines)
		rc = find_main_steps(&x, &is_timed, err);
	if (f->main != NSX_NONE) {
		f->has_messages = f->has_messages || (f->by_totals && is_timed);
		rc = rc || find_bounds(&x, err) || drop_edges(f, err) ||
		     steps_find_parts(&x, err) || find_own(&x, err) ? err->rc : 0;
	}
	if (f->by_totals && f->nsteps)
		nsx_fleet_warn(f, "%s: own time is that of whole iterations without exposed "
			       "communication, and what can be won is a bound", is_timed ?
			       "who sends to whom is not known" :
			       "no times of collectives are in these digests (--detail steps)");
	nsx_arena_free(x.a);
	return rc;
}
