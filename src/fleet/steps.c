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
#include "base/span.h"
#include "base/stat.h"
#include "fleet/fleet.h"

#define LONG 3 /* a first or last step longer than this many medians is start-up or shutdown */

/* The main family ------------------------------------------------------------------*/

static double time_of(const struct nsx_fleet *f, const struct nsx_family *fam)
{
	double sum = 0;

	for (uint32_t c = fam->at; c < fam->at + fam->n; c++)
		for (uint32_t m = 0; m < f->comm[c].n; m++) {
			const struct nsx_dchannel *ch = nsx_channel_of(f, &f->comm[c].m[m]);

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
	return nsx_is_of_unknown_pairs(f, &f->comm[fam->at]);
}

/* The number of ranks that certainly begin and end together in a family. Sends and receives that
 * end together may be several alltoalls beside each other, of ranks that were together before.
 */
static uint32_t surely_together(const struct nsx_fleet *f, const struct nsx_family *fam)
{
	const struct nsx_fcomm *c = &f->comm[fam->at];
	const struct nsx_dchannel *ch = nsx_channel_of(f, c->m);

	return c->is_sure || !ch->n || strcmp(ch->ops[0].name, "sendrecv") != 0 ? fam->most :
										   NSX_MIN(fam->most, 2);
}

/* The family with the largest communicator, then the most ranks, then the most time, among
 * those with common ends or among those without. NSX_NONE: none.
 */
static uint32_t largest_family(const struct nsx_fleet *f, bool has_ends)
{
	const struct nsx_family *best = NULL;

	for (uint32_t i = 0; i < f->nfamilies; i++) {
		const struct nsx_family *fam = &f->family[i];
		int by_size = !best ? 1 : NSX_CMP(surely_together(f, fam), surely_together(f, best)) ?:
				      NSX_CMP(fam->nranks, best->nranks);

		if ((has_ends ? fam->most : fam->nranks) < 2 ||
		    is_of_unknown_pairs(f, fam) == has_ends ||
		    by_size < 0 ||
		    (!by_size && time_of(f, fam) <= time_of(f, best)))
			continue;
		best = fam;
	}
	return best ? (uint32_t)(best - f->family) : NSX_NONE;
}

/* Prefers a family with common ends unless one without them has more ranks. */
static void choose_main(struct nsx_fleet *f)
{
	uint32_t with = largest_family(f, true);
	uint32_t without = largest_family(f, false);

	f->main = without == NSX_NONE ||
		  (with != NSX_NONE &&
		   f->family[with].nranks >= f->family[without].nranks) ?
			  with : without;
}

static bool steps_has_unknown_pairs(const struct nsx_fleet *f)
{
	for (uint32_t i = 0; i < f->nfamilies; i++)
		if (is_of_unknown_pairs(f, &f->family[i]))
			return true;
	return false;
}

/* Whether all ranks of the main family have iterations. */
static bool have_iterations(const struct nsx_fleet *f)
{
	const struct nsx_family *fam = &f->family[f->main];

	for (uint32_t c = fam->at; c < fam->at + fam->n; c++)
		for (uint32_t m = 0; m < f->comm[c].n; m++)
			if (f->rank[f->comm[c].m[m].rank].d->nsteps < 3)
				return false;
	return true;
}

/* Notes, for each rank that has none yet, its member of these communicators. */
static void steps_list_members(const struct nsx_fleet *f, uint32_t at, uint32_t n,
			       const struct nsx_fmember **of)
{
	for (uint32_t c = at; c < at + n; c++)
		for (uint32_t m = 0; m < f->comm[c].n; m++) {
			const struct nsx_fmember *x = &f->comm[c].m[m];

			of[x->rank] = of[x->rank] ?: x;
		}
}

static bool has_times(const struct nsx_fleet *f, const struct nsx_fmember **of)
{
	for (uint32_t r = 0; r < f->nranks; r++)
		if (of[r] && nsx_channel_of(f, of[r])->has_times)
			return true;
	return false;
}

/* Boundaries ---------------------------------------------------------------------------*/

/* k of the first collective that begins at or after t; SIZE_MAX: none. */
static size_t first_after(const struct nsx_fleet *f, const struct nsx_fmember *m, int64_t t)
{
	const struct nsx_dchannel *c = nsx_channel_of(f, m);
	size_t lo = 0, hi = c->n;

	NSX_BISECT(lo, hi, mid, nsx_coll_start(c, mid) < t);
	return lo == c->n ? SIZE_MAX : (size_t)((int64_t)lo + m->piece[0].shift);
}

/* Counts, for each k, the ranks that have a step beginning there. Returns the number of
 * ranks with steps.
 */
static uint32_t vote(const struct nsx_fleet *f, const struct nsx_fmember **of,
		     size_t *const *at, uint32_t *votes, size_t length)
{
	uint32_t voters = 0;

	for (uint32_t r = 0; r < f->nranks; r++) {
		const struct nsx_digest *d = f->rank[r].d;

		if (!of[r])
			continue;
		voters += d->nsteps > 1;
		for (size_t i = 0; i < d->nsteps; i++)
			if (at[r][i] < length && (!i || at[r][i] != at[r][i - 1]))
				votes[at[r][i]]++;
	}
	return voters;
}

/* The least period of the operations of the longest member; 0: none. */
static size_t period_of(const struct nsx_fleet *f, const struct nsx_fmember **of)
{
	const struct nsx_dchannel *c = NULL;

	for (uint32_t r = 0; r < f->nranks; r++)
		if (of[r] && (!c || nsx_channel_of(f, of[r])->n > c->n))
			c = nsx_channel_of(f, of[r]);
	for (size_t p = 1; c && p <= NSX_MIN(c->n / 4, 4096); p++) {
		size_t same = 0;

		for (size_t i = p; i < c->n; i++)
			same += c->code[i] == c->code[i - p];
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

/* Number of possible k: collectives or, by_totals, iterations. Clocks that are far off must
 * not make them more than all ranks have together.
 */
static size_t count_places(const struct nsx_fleet *f,
			   const struct nsx_fmember **of, size_t *const *at)
{
	size_t most = 0, all = 0;

	if (!f->by_totals)
		return f->family[f->main].length;
	for (uint32_t r = 0; r < f->nranks; r++) {
		size_t n = of[r] ? f->rank[r].d->nsteps : 0;

		all += n;
		most = n ? NSX_MAX(most, at[r][n - 1] + 1) : most;
	}
	return NSX_MIN(most, all);
}

/* Begins a step at every k on which more than half of the ranks with steps agree. */
static int find_steps(struct nsx_fleet *f, const struct nsx_fmember **of,
		      size_t *const *at, struct nsx_arena *a, struct nsx_err *err)
{
	size_t length = count_places(f, of, at);
	uint32_t *votes, voters;
	int rc = 0;

	if (!nsx_new_array(votes, a, length + 1, "collectives", err))
		return err->rc;
	voters = vote(f, of, at, votes, length);
	for (size_t k = 0; voters && k < length && !rc; k++)
		if (votes[k] * 2 > voters)
			rc = steps_add_step(f, k, err);
	if (!rc && f->nsteps < 3 && !f->by_totals) {
		size_t period = period_of(f, of);

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

static int64_t end_at(const struct nsx_fleet *f, const struct nsx_fmember *m, size_t k)
{
	const struct nsx_dchannel *c = nsx_channel_of(f, m);
	size_t i = nsx_timed_at(m, c, k);

	return i == SIZE_MAX ? INT64_MIN : nsx_coll_end(c, i);
}

/* Start of the rank's iteration that begins at collective k. */
static int64_t start_at(const struct nsx_digest *d, const size_t *at, size_t k)
{
	size_t lo = 0, hi = d->nsteps;

	NSX_BISECT(lo, hi, mid, at[mid] < k);
	return lo < d->nsteps && at[lo] == k ? d->steps[lo].start_ns : INT64_MIN;
}

/* Step s of rank r is [bound[s], bound[s + 1]): from the end of the collective before it to
 * the end of its last one.
 */
static int find_bounds(struct nsx_fleet *f, const struct nsx_fmember **of,
		       size_t *const *at, struct nsx_err *err)
{
	size_t n = f->nsteps + 1;

	if (!nsx_new_array(f->bound_ns, f->arena, n * f->nranks, "steps of ranks", err))
		return err->rc;
	for (uint32_t r = 0; r < f->nranks; r++)
		for (size_t s = 0; s < n; s++) {
			size_t k = !f->nsteps ? 0 :
				   s < f->nsteps ? f->step[s].first :
						   f->step[s - 1].end;

			*nsx_bounds_of(f, r, s) = !of[r] ? INT64_MIN :
				f->by_totals ? start_at(f->rank[r].d, at[r], k) :
				k ? end_at(f, of[r], k - 1) : INT64_MIN;
		}
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

/* Keeps the steps from the first to the last that more than half of the ranks saw whole.
 * wall: receives the steps' lengths; has room for all ranks behind those of all steps.
 */
static void keep_seen(struct nsx_fleet *f, double *wall)
{
	size_t first = f->nsteps, end = 0;
	double *scratch = wall + f->nsteps;

	for (size_t s = 0; s < f->nsteps; s++) {
		size_t there;

		wall[s] = median_wall(f, s, scratch, &there);
		f->step[s].wall_ns = (int64_t)wall[s];
		if (there * 2 <= f->family[f->main].nranks || there < 2)
			continue;
		first = NSX_MIN(first, s);
		end = s + 1;
	}
	first = NSX_MIN(first, end);
	keep_steps(f, first, end);
	memmove(wall, wall + first, f->nsteps * sizeof(*wall));
}

/* Drops first and last steps longer than LONG medians: start-up and shutdown. wall: lengths
 * of the steps; overwritten.
 */
static void drop_long(struct nsx_fleet *f, double *wall)
{
	size_t first = 0, end = f->nsteps, ndropped;
	double most = LONG * nsx_median_of(wall, f->nsteps);

	while (first < end && (double)f->step[first].wall_ns > most)
		first++;
	while (end > first && (double)f->step[end - 1].wall_ns > most)
		end--;
	ndropped = first + f->nsteps - end;
	if (ndropped)
		nsx_fleet_warn(f, "%zu step%s at the beginning or the end took more than three "
			       "times the median: not judged", ndropped, ndropped == 1 ? "" : "s");
	keep_steps(f, first, end);
}

static int drop_edges(struct nsx_fleet *f, struct nsx_err *err)
{
	double *wall = nsx_try_alloc(f->nsteps + f->nranks, sizeof(*wall), "steps", err);

	if (!wall)
		return err->rc;
	keep_seen(f, wall);
	drop_long(f, wall);
	free(wall);
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
	const int64_t *b = nsx_bounds_of(f, r, 0);
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
static int find_own(struct nsx_fleet *f, struct nsx_err *err)
{
	bool by_iteration = f->by_totals || (have_iterations(f) && steps_has_unknown_pairs(f));

	if (!nsx_new_array(f->own_ns, f->arena, f->nsteps * f->nranks, "steps of ranks", err))
		return err->rc;
	for (uint32_t r = 0; r < f->nranks; r++) {
		struct nsx_spans exposed;

		for (size_t s = 0; s < f->nsteps; s++) {
			const int64_t *b = nsx_bounds_of(f, r, s);
			const struct nsx_dstep *x = f->part[s * f->nranks + r];
			double *own = &f->own_ns[s * f->nranks + r];

			*own = has_step(f, r, s) ? (double)(b[1] - b[0]) : NAN;
			if (by_iteration)
				*own -= x ? (double)(x->mpi_ns +
					x->part_ns[NSX_P_COMM_EXPOSED]) : NAN;
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
static int steps_find_parts(struct nsx_fleet *f, size_t *const *at, struct nsx_err *err)
{
	if (!nsx_new_array(f->part, f->arena, f->nsteps * f->nranks, "steps of ranks", err))
		return err->rc;
	for (uint32_t r = 0; r < f->nranks; r++) {
		struct nsx_digest *d = f->rank[r].d;
		size_t s = 0;

		for (size_t i = 0; at[r] && i < d->nsteps; i++) {
			size_t k = at[r][i], slack;

			while (s + 1 < f->nsteps && f->step[s + 1].first <= k)
				s++;
			if (!f->nsteps)
				break;
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
	size_t i = y->nsteps / 2, lo = 0, hi = x->nsteps;
	double at;

	if (x->utc_ns < 0 || y->utc_ns < 0 || !x->nsteps || !y->nsteps)
		return 0;
	at = nsx_common_ns(f, b, y->steps[i].start_ns);
	NSX_BISECT(lo, hi, mid, nsx_common_ns(f, a, x->steps[mid].start_ns) < at);
	if (lo && (lo == x->nsteps ||
		   at - nsx_common_ns(f, a, x->steps[lo - 1].start_ns) <
			   nsx_common_ns(f, a, x->steps[lo].start_ns) - at))
		lo--;
	return (int64_t)lo - (int64_t)i;
}

/* Aligns iterations by the clocks, as there are no common ends; errors up to half an
 * iteration do no harm. From here on k counts iterations.
 */
static void place_by_clock(const struct nsx_fleet *f, const struct nsx_fmember **of, size_t **at)
{
	uint32_t first = NSX_NONE;
	int64_t least = 0;

	for (uint32_t r = 0; r < f->nranks; r++)
		if (of[r] && f->rank[r].d->nsteps) {
			first = NSX_MIN(first, r);
			least = NSX_MIN(least, shift_by_clock(f, first, r));
		}
	for (uint32_t r = 0; r < f->nranks && first != NSX_NONE; r++) {
		const struct nsx_digest *d = f->rank[r].d;
		size_t from = (size_t)(shift_by_clock(f, first, r) - least);

		for (size_t i = 0; of[r] && i < d->nsteps; i++)
			at[r][i] = from + i;
	}
}

/* Finds the collective at which each iteration of each rank begins. Without times, the
 * iteration's count of earlier collectives gives it.
 */
static int place_iterations(struct nsx_fleet *f, const struct nsx_fmember **of,
			    size_t **at, struct nsx_arena *a, struct nsx_err *err)
{
	for (uint32_t r = 0; r < f->nranks; r++) {
		const struct nsx_digest *d = f->rank[r].d;

		if (!of[r])
			continue;
		if (!nsx_new_array(at[r], a, d->nsteps, "iterations", err))
			return err->rc;
		for (size_t i = 0; i < d->nsteps; i++)
			at[r][i] = nsx_channel_of(f, of[r])->has_times ?
				first_after(f, of[r], d->steps[i].start_ns) :
				(size_t)(d->steps[i].colls + of[r]->piece[0].shift);
	}
	if (f->by_totals)
		place_by_clock(f, of, at);
	return 0;
}

/* Waiting ---------------------------------------------------------------------------------*/

/* Records who waited for whom in a collective of these lengths. scratch: room for all ranks. */
static void add_waits(struct nsx_fleet *f, const struct nsx_fcomm *c,
		      const int64_t *ns, int64_t *scratch)
{
	uint32_t last = NSX_NONE;
	size_t n = 0;

	for (uint32_t m = 0; m < c->n; m++)
		if (ns[m] >= 0 && (last == NSX_NONE || ns[m] < ns[last]))
			last = m;
	for (uint32_t m = 0; m < c->n; m++) {
		struct nsx_frank *r = &f->rank[c->m[m].rank];

		if (ns[m] < 0)
			continue;
		r->ncolls++;
		nsx_add_to(&r->waited_ns, ns[m] - ns[last]);
		if (m != last)
			scratch[n++] = ns[m];
	}
	if (!n)
		return;
	f->rank[c->m[last].rank].came_last++;
	f->rank[c->m[last].rank].induced_ns += nsx_quantile(scratch, n, 0.5) - (double)ns[last];
}

/* Leaves out a communicator's first collective, where captures begin at different times,
 * unless they are one capture.
 */
static int find_waits(struct nsx_fleet *f, struct nsx_err *err)
{
	size_t room = (size_t)f->nranks * (NSX_LENGTHS + 1), n;
	int64_t *ns = nsx_try_alloc(room, sizeof(*ns), "ranks", err);

	for (uint32_t i = 0; ns && i < f->ncomms; i++) {
		const struct nsx_fcomm *c = &f->comm[i];

		for (size_t k = c->first + !c->is_of_one; k < c->end && c->n > 1; k += n) {
			n = NSX_MIN(c->end - k, NSX_LENGTHS);
			nsx_lengths_of(f, c, k, n, ns);
			for (size_t j = 0; j < n; j++)
				if (nsx_holds_all(f, c, k + j))
					add_waits(f, c, ns + j * c->n, ns + room - f->nranks);
		}
	}
	free(ns);
	return ns ? 0 : err->rc;
}

int nsx_fleet_steps(struct nsx_fleet *f, struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	size_t **at = nsx_arena_get(a, (f->nranks + 1) * sizeof(*at));
	const struct nsx_fmember **of = nsx_arena_get(a, (f->nranks + 1) * sizeof(*of));
	bool is_timed = false;
	int rc = find_waits(f, err);

	if (!f->nengines)
		choose_main(f);
	if (!rc && f->main != NSX_NONE) {
		const struct nsx_family *fam = &f->family[f->main];

		steps_list_members(f, fam->at, fam->n, of);
		is_timed = has_times(f, of);
		f->by_totals = !is_timed ||
			       (have_iterations(f) &&
				is_of_unknown_pairs(f, fam));
		if (f->by_totals) /* ranks of other families are compared as well */
			steps_list_members(f, 0, f->ncomms, of);
		rc = place_iterations(f, of, at, a, err) ||
		     find_steps(f, of, at, a, err) ||
		     find_bounds(f, of, at, err) || drop_edges(f, err) ||
		     steps_find_parts(f, at, err) || find_own(f, err) ? err->rc : 0;
	}
	if (f->by_totals && f->nsteps)
		nsx_fleet_warn(f, "%s: own time is that of whole iterations without exposed "
			       "communication, and what can be won is a bound", is_timed ?
			       "who sends to whom is not known" :
			       "no times of collectives are in these digests (--detail steps)");
	nsx_arena_free(a);
	return rc;
}
