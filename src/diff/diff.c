/* diff.c - loads the sides, chooses a common unit, and compares lane by lane. */
#include <math.h>
#include "base/clock.h"
#include "diff/diff.h"

/* Loading -----------------------------------------------------------------------*/

static bool any_digest(const struct nsx_captures *c)
{
	return NSX_ANY(i, c->n, nsx_side_is_digest(c->v[i]));
}

struct nsx_side_opts nsx_side_opts_of(const struct nsx_diff_opts *o)
{
	struct nsx_side_opts ret = o->side;

	ret.digested = any_digest(&o->captures[0]) || any_digest(&o->captures[1]);
	return ret;
}

/* Loads all captures. A side that already has launches as units is not loaded again. */
static int load_sides(struct nsx_diff *d, enum nsx_side_unit unit,
		      const char *pattern, struct nsx_err *err)
{
	const struct nsx_diff_opts *o = d->opts;
	struct nsx_side_opts so = nsx_side_opts_of(o);

	so.unit = unit;
	so.pattern = pattern;
	d->digested = so.digested;
	for (unsigned s = 0; s < 2; s++)
		for (size_t i = 0; i < d->nsides[s]; i++) {
			struct nsx_side **side = &d->sides[s][i];

			if (unit == NSX_SIDE_LAUNCH && *side &&
			    (*side)->nseen &&
			    (*side)->seen[(*side)->nseen - 1].method == NSX_WAY_WINDOW)
				continue;
			nsx_side_free(*side);
			*side = NULL;
			if (nsx_side_load(o->captures[s].v[i], &so, side, err))
				return err->rc;
		}
	return 0;
}

/* Choosing the unit -------------------------------------------------------------*/

static const struct nsx_seen *find_way(const struct nsx_side *s, const struct nsx_seen *way)
{
	for (size_t i = 0; i < s->nseen; i++)
		if (nsx_is_same_way(&s->seen[i], way))
			return &s->seen[i];
	return NULL;
}

/* Finds in each capture the units of a kind. *ret_score: mean score. Returns false if a capture has
 * no such units.
 */
static bool see_all(const struct nsx_diff *d, const struct nsx_seen *way,
		    const struct nsx_seen **seen, double *ret_score)
{
	*ret_score = 0;
	for (size_t i = 0; i < d->nall; i++) {
		seen[i] = find_way(d->all[i], way);
		if (!seen[i])
			return false;
		*ret_score += seen[i]->score / (double)(2 * d->nsides[i >= d->nsides[0]]);
	}
	return true;
}

/* Whether a capture has lanes of this rank. Lanes of digests are ordered by rank. */
static bool has_rank(const struct nsx_seen *seen, int64_t rank)
{
	size_t lo = 0, hi = seen->nlanes;

	NSX_BISECT(lo, hi, mid, seen->lanes[mid].rank < rank);
	return lo < seen->nlanes && seen->lanes[lo].rank == rank;
}

/* Keeps only the ranks that the other capture has too. */
static void keep_ranks(struct nsx_seen *seen, const struct nsx_seen *other)
{
	size_t n = 0;

	for (size_t l = 0; l < seen->nlanes; l++)
		if (has_rank(other, seen->lanes[l].rank))
			seen->lanes[n++] = seen->lanes[l];
	seen->nlanes = n;
}

/* Pairs ranks by number if any capture has several. */
static void pair_ranks(const struct nsx_diff *d, const struct nsx_seen **seen)
{
	bool several = false;

	for (size_t i = 0; i < d->nall; i++) {
		several |= seen[i]->nlanes > 1;
		if (has_rank(seen[i], -1))
			return;
	}
	for (size_t i = 0; several && i < d->nall; i++)
		for (size_t k = 0; k < d->nall; k++)
			keep_ranks((struct nsx_seen *)seen[i], seen[k]);
}

static double *launches_of(const struct nsx_kernels *kernels, const uint32_t *number,
			   const struct nsx_lane *lane, struct nsx_arena *a)
{
	double *n = nsx_arena_get(a, kernels->n * sizeof(*n));

	nsx_count_launches(lane, number, n);
	return n;
}

static double lanes_alike(const struct nsx_kernels *kernels, const double *x, const double *y)
{
	return nsx_common_launches(kernels, (const double *const[]){x, y},
				   offsetof(struct nsx_kernel, name));
}

enum { MOST_PAIRED = 64 }; /* most lanes that are paired, because all are compared with all */
/* least gain in common launches for which a lane is paired with a lane of another number */
#define MUCH_MORE 0.1

/* Reorders the lanes of a capture to match the first capture's lanes by their work. Ranks of a job
 * may divide their roles differently, and GPUs may be numbered differently.
 */
static void pair_lanes(const struct nsx_kernels *kernels, const struct nsx_seen *like,
		       const uint32_t *number, struct nsx_seen *seen)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	double *n[MOST_PAIRED];

	for (size_t l = 0; l < seen->nlanes; l++)
		n[l] = launches_of(kernels, number, &seen->lanes[l], a);
	for (size_t l = 0; l < seen->nlanes; l++) {
		const double *of = launches_of(kernels, kernels->number[0], &like->lanes[l], a);
		double most = lanes_alike(kernels, of, n[l]) + MUCH_MORE;
		struct nsx_lane was = seen->lanes[l];
		double *was_n = n[l];
		size_t best = l;

		for (size_t k = l + 1; k < seen->nlanes && most < 1; k++) {
			double alike = lanes_alike(kernels, of, n[k]);

			if (alike > most) {
				most = alike;
				best = k;
			}
		}
		seen->lanes[l] = seen->lanes[best];
		seen->lanes[best] = was;
		n[l] = n[best];
		n[best] = was_n;
	}
}

/* Pairs the GPUs of all captures with those of the first. */
static void pair_gpus(const struct nsx_diff *d, const struct nsx_seen **seen)
{
	size_t n = seen[0]->nlanes;

	for (size_t i = 1; i < d->nall && n > 1 && n <= MOST_PAIRED; i++)
		if (seen[i]->nlanes == n)
			pair_lanes(&d->kernels, seen[0], d->kernels.number[i],
				   (struct nsx_seen *)seen[i]);
}

/* least share of common kernels for which launches are comparable */
#define SAME_KERNELS 0.9

/* Whether launches in a loop become units without being requested: only if both sides have equally
 * many.
 */
static bool pairs_launches(const struct nsx_diff *d)
{
	return d->opts->side.unit == NSX_SIDE_LAUNCH ||
	       d->sides[0][0]->totals.launches == d->sides[1][0]->totals.launches;
}

/* Tries a kind of unit, and keeps it if it suits better than the best so far. */
static void try_way(struct nsx_diff *d, const struct nsx_seen *way, double *best)
{
	const struct nsx_seen **seen = nsx_arena_get(d->arena, d->nall * sizeof(*seen));
	struct nsx_pool pool[2];
	double score, like = 1;

	if (!see_all(d, way, seen, &score))
		return;
	if (d->digested)
		pair_ranks(d, seen);
	else
		pair_gpus(d, seen);
	if (!way->nlanes || (way->method == NSX_WAY_LAUNCH && !pairs_launches(d)))
		return;
	for (size_t s = 0, from = 0; s < 2; from += d->nsides[s++])
		pool[s] = nsx_pool_build(seen + from, d->nsides[s], d->kernels.number + from,
					 d->arena);
	/* Equal names of ranges prove that the unit is the same, even if its kernels changed. */
	if (way->method != NSX_WAY_NVTX)
		like = nsx_likeness(&d->kernels, pool);
	if (score * like <= *best || (way->method == NSX_WAY_LAUNCH && like < SAME_KERNELS))
		return;
	*best = score * like;
	memcpy(d->pool, pool, sizeof(pool));
	d->method = way->method;
	d->name = way->name;
	d->whole = way->method == NSX_WAY_WINDOW;
}

bool nsx_choose_way(struct nsx_diff *d)
{
	const struct nsx_side *before = d->sides[0][0];
	double best = -1;

	d->kernels = nsx_number_kernels(d->all, d->nsides[0], d->nall, d->arena);
	for (size_t i = 0; i < before->nseen; i++)
		try_way(d, &before->seen[i], &best);
	return best >= 0;
}

static int fail_empty(const struct nsx_diff *d, const struct nsx_side *side, struct nsx_err *err)
{
	const struct nsx_side_opts *o = &d->opts->side;
	bool is_part = *side->part || o->last >= 0;
	char gpu[32] = "";

	if (d->digested && !is_part && o->device < 0)
		return nsx_fail(err, NSX_E_USAGE, "cannot compare '%s': nothing "
				"repeats in it, and a digest keeps no more than "
				"steps; compare the traces", side->path);
	if (side->damage)
		return nsx_fail(err, NSX_E_DATA, "cannot compare '%s': %s",
				side->path, side->damage);
	if (o->device >= 0)
		snprintf(gpu, sizeof(gpu), " on GPU %lld", (long long)o->device);
	if (side->launches_nothing)
		return nsx_fail(err, NSX_E_USAGE, "cannot compare '%s': the ranges of that name "
				"launch no GPU work, so that they are no units of it", side->path);
	return nsx_fail(err, NSX_E_USAGE, "cannot compare '%s': it has no %s%s%s", side->path,
			o->unit != NSX_SIDE_AUTO ?
				"complete unit of that kind" :
			is_part ? "complete unit" : "GPU work",
			gpu, is_part ? " in the part that was asked for" : "");
}

static int find_units(struct nsx_diff *d, struct nsx_err *err)
{
	enum nsx_side_unit unit = d->opts->side.unit;
	int rc = load_sides(d, unit, d->opts->side.pattern, err);

	for (size_t i = 0; !rc && i < d->nall; i++)
		if (!d->all[i]->nseen)
			rc = fail_empty(d, d->all[i], err);
	if (rc || nsx_choose_way(d))
		return rc;
	/* If only one side has a repeating unit, launches are tried as units, then the window. */
	if (unit == NSX_SIDE_AUTO && !d->digested) {
		rc = load_sides(d, NSX_SIDE_LAUNCH, NULL, err);
		if (rc || nsx_choose_way(d))
			return rc;
	}
	return nsx_fail(err, NSX_E_USAGE, "cannot compare '%s' with '%s': no "
			"%s", d->sides[0][0]->path, d->sides[1][0]->path,
			d->digested ? "rank has steps on both sides that were found the same way; "
				      "compare the traces" :
				      "kind of unit is found in both; try --unit window");
}

/* Verdict -----------------------------------------------------------------------*/

static bool diff_is_same(const struct nsx_diff *d)
{
	return !NSX_ANY(i, d->nall - 1, !nsx_side_is_same(d->all[i], d->all[d->nall - 1]));
}

/* Whether the sides have different numbers of ranks. Jobs of different sizes do different work:
 * their ranks can be shown side by side but prove nothing.
 */
static bool lacks_ranks(const struct nsx_diff *d)
{
	return d->digested && d->opts->side.rank < 0 &&
	       d->sides[0][0]->nranks != d->sides[1][0]->nranks;
}

/* Whether the units are windows, or launches that were not requested. */
static bool is_no_unit(const struct nsx_diff *d)
{
	return d->whole || (d->method == NSX_WAY_LAUNCH && d->opts->side.unit == NSX_SIDE_AUTO);
}

bool nsx_wholes_tell(const struct nsx_diff *d)
{
	return d->totals.pairs_up && d->opts->side.unit == NSX_SIDE_AUTO;
}

const char *nsx_find_failure(const struct nsx_diff *d)
{
	for (size_t i = 0; i < d->nchecks; i++)
		if (d->checks[i].status == NSX_CHECK_FAIL)
			return d->checks[i].text;
	if (is_no_unit(d) && !d->totals.known)
		return "no unit of work repeats on both sides, and a part of the "
		       "capture does not stand for the run; name a kernel that begins "
		       "a unit, as in --unit kernel:REGEX";
	if (d->pool[0].seen[0]->nlanes != d->pool[1].seen[0]->nlanes)
		return "the sides use different numbers of GPUs";
	if (lacks_ranks(d))
		return "the sides have different numbers of ranks; --rank compares one of them";
	return NULL;
}

/* Sets the verdict of the whole comparison on every lane. */
static void overrule(struct nsx_diff *d, enum nsx_verdict verdict, const char *why)
{
	for (size_t l = 0; l <= d->nlanes; l++) {
		struct nsx_step *s = l < d->nlanes ? &d->lanes[l].change : &d->job;

		s->verdict = verdict;
		s->why = why;
		s->settle = 0;
	}
	d->verdict = verdict;
	d->why = why;
	d->overruled = true;
}

const struct nsx_step *nsx_decisive_step(const struct nsx_diff *d, uint32_t *lane)
{
	*lane = NSX_NONE;
	if (d->has_job && d->job.verdict == d->verdict)
		return &d->job;
	for (uint32_t l = 0; l < d->nlanes; l++)
		if (d->lanes[l].change.verdict == d->verdict) {
			*lane = l;
			return &d->lanes[l].change;
		}
	*lane = d->has_job ? NSX_NONE : 0;
	return d->has_job ? &d->job : &d->lanes[0].change;
}

/* The verdict over all GPUs: a change on any GPU is a change, mixed if GPUs disagree; neutral needs
 * all GPUs.
 */
static enum nsx_verdict verdict_of(const struct nsx_diff *d)
{
	bool any[NSX_NDIFF_VERDICTS] = {false};

	for (size_t l = 0; l < d->nlanes; l++)
		any[d->lanes[l].change.verdict] = true;
	if (d->has_job)
		any[d->job.verdict] = true;
	return any[NSX_V_BOTH_WAYS] ||
	       (any[NSX_V_REGRESSION] && any[NSX_V_IMPROVEMENT]) ?
						NSX_V_BOTH_WAYS :
	       any[NSX_V_REGRESSION]		? NSX_V_REGRESSION :
	       any[NSX_V_IMPROVEMENT]		? NSX_V_IMPROVEMENT :
	       any[NSX_V_INCONCLUSIVE]		? NSX_V_INCONCLUSIVE :
						  NSX_V_NEUTRAL;
}

/* Whether slow units change the mean, and do not just hold one-time gaps. */
static bool has_slow_units(const struct nsx_diff *d, const struct nsx_step *c)
{
	const struct nsx_totals *t = d->totals.side;
	double gaps_ns = (double)(t[1].ns[NSX_TOTAL_ONE_TIME] - t[0].ns[NSX_TOTAL_ONE_TIME]);
	double units = (double)NSX_MIN(c->side[0].n, c->side[1].n);

	return fabs(c->mean_rel) >= c->noise &&
	       fabs(c->mean_rel - gaps_ns / units / c->side[0].mean_ns) >= c->noise;
}

/* Whether the units leave the comparison of two runs open, so that the whole runs decide if they
 * did the same work. That is so if units of the sides differ in their work, if they are too few or
 * prove nothing, or if they drift on both sides: then no unit is typical, but each launch still has
 * its counterpart. Slow units among equal ones may be chance, which the whole runs cannot rule out.
 */
static bool leaves_to_totals(const struct nsx_diff *d, const struct nsx_step *c)
{
	/* with enough captures, the floor tells how differently they drift */
	bool changes = fabs(c->rel) >= (nsx_enough_captures(d->nsides[0], d->nsides[1]) ?
						c->floor.at : c->noise);

	if (d->units_differ || NSX_MIN(c->side[0].n, c->side[1].n) < NSX_LEAST_UNITS)
		return true;
	return d->verdict == NSX_V_INCONCLUSIVE ? changes || !has_slow_units(d, c) :
	       changes && d->totals.in_step && c->side[0].drifting && c->side[1].drifting;
}

/* Whether to judge the sides as wholes: because nothing repeats on both sides, or because the units
 * leave it open.
 */
static bool by_totals(const struct nsx_diff *d)
{
	uint32_t lane;
	const struct nsx_step *c = nsx_decisive_step(d, &lane);

	return d->totals.known &&
	       (is_no_unit(d) || (nsx_wholes_tell(d) && leaves_to_totals(d, c)));
}

double nsx_change_of(const struct nsx_diff *d)
{
	uint32_t lane;
	const struct nsx_step *c = nsx_decisive_step(d, &lane);
	const struct nsx_totals *t = d->totals.side;

	if (!d->totals.decides)
		return c->mean_alone ? c->mean_rel : c->rel;
	return t[0].span_ns > 0 ? nsx_totals_change(&d->totals) / (double)t[0].span_ns : 0;
}

/* Whether a different GPU model explains the change, or the lack of a change. */
static bool is_of_gpu(const struct nsx_diff *d)
{
	double times = 1 + nsx_change_of(d);

	return d->by_peaks.hi > 0 && times >= d->by_peaks.lo * (1 - NSX_NOISE) &&
	       times <= d->by_peaks.hi * (1 + NSX_NOISE);
}

/* Whether all captures are parts of one run, and so of the same code. */
static bool is_one_run(const struct nsx_diff *d)
{
	return !NSX_ANY(i, d->nall, !nsx_side_is_of_run(d->all[i], d->all[0]));
}

/* Judges the typical unit or the whole run. */
static void judge_change(struct nsx_diff *d)
{
	const char *why = NULL;
	const struct nsx_step *c;
	enum nsx_verdict verdict;
	uint32_t lane;

	d->verdict = verdict_of(d);
	if (by_totals(d)) {
		d->totals.decides = true;
		verdict = nsx_totals_judge(d, &why);
		if (is_no_unit(d))
			overrule(d, verdict, why);
		d->verdict = verdict;
		d->why = why;
		return;
	}
	c = nsx_decisive_step(d, &lane);
	if (c->verdict != d->verdict)
		d->why = "some GPUs became slower, others faster";
	else if (d->verdict >= NSX_V_BOTH_WAYS)
		d->why = c->why;
}

static void diff_judge(struct nsx_diff *d)
{
	const char *failure = nsx_find_failure(d);

	if (d->same) {
		overrule(d, NSX_V_NEUTRAL, "both sides are the same capture, "
					   "and nothing was rerun");
		return;
	}
	if (failure) {
		overrule(d, NSX_V_INCONCLUSIVE, failure);
		return;
	}
	judge_change(d);
	if (d->verdict == NSX_V_INCONCLUSIVE)
		return;
	if (is_of_gpu(d))
		overrule(d, NSX_V_INCONCLUSIVE, fabs(nsx_change_of(d)) < NSX_NOISE ?
			 "the sides ran on different GPUs, so equal times do not show that the "
			 "code is as fast" :
			 "the sides ran on different GPUs, and their peaks explain such a change");
	else if (d->by_peaks.hi > 0 && !d->why)
		d->why = "it ran on another GPU, whose peaks do not explain this";
	if (is_one_run(d) && d->verdict != NSX_V_NEUTRAL)
		overrule(d, NSX_V_INCONCLUSIVE, "both sides are parts of one run, which "
			 "changes in its course; that says nothing about the code");
}

/* Comparing ---------------------------------------------------------------------*/

static void compare_lanes(struct nsx_diff *d)
{
	d->nlanes = NSX_MIN(d->pool[0].nlanes, d->pool[1].nlanes);
	d->lanes = nsx_arena_get(d->arena, d->nlanes * sizeof(*d->lanes));
	for (uint32_t l = 0; l < d->nlanes; l++) {
		const struct nsx_lane *x = &d->pool[0].lanes[l];

		d->lanes[l] = (struct nsx_diff_lane){x->device_id, x->rank, x->nth,
						     nsx_step_measure(d, l), nsx_budget_build(d, l)};
	}
	d->has_job = !lacks_ranks(d) && d->pool[0].one_job &&
		     d->pool[1].one_job &&
		     d->pool[0].nlanes == d->pool[1].nlanes;
	d->splits_comm = d->has_job && !d->digested && d->pool[0].splits_comm &&
			 d->pool[1].splits_comm;
	if (d->has_job)
		d->job = nsx_step_measure(d, NSX_NONE);
}

static int diff_compare(struct nsx_diff *d, struct nsx_err *err)
{
	if (find_units(d, err))
		return err->rc;
	nsx_totals_compare(d);
	d->rows = nsx_match_kernels(&d->kernels, d->pool, d->arena);
	compare_lanes(d);
	nsx_compare_captures(d);
	nsx_compare_findings(d);
	d->same = diff_is_same(d);
	diff_judge(d);
	return nsx_gates_evaluate(d, err);
}

int nsx_diff_run(const struct nsx_diff_opts *o, struct nsx_diff **ret, struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_diff *d = nsx_arena_get(a, sizeof(*d));
	int rc = 0;

	d->arena = a;
	d->opts = o;
	nsx_utc_now(d->generated_at);
	d->nsides[0] = o->captures[0].n;
	d->nsides[1] = o->captures[1].n;
	d->nall = d->nsides[0] + d->nsides[1];
	d->all = d->sides[0] = nsx_arena_get(a, d->nall * sizeof(*d->all));
	d->sides[1] = d->all + d->nsides[0];
	for (size_t i = 0; !rc && i < o->ngates; i++)
		rc = nsx_gate_check(o->gates[i], err);
	if (!rc)
		rc = diff_compare(d, err);
	if (rc)
		nsx_diff_free(d);
	else
		*ret = d;
	return rc;
}

void nsx_diff_free(struct nsx_diff *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->nall; i++)
		nsx_side_free(d->all[i]);
	nsx_arena_free(d->arena);
}
