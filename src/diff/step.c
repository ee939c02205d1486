/* step.c - how much longer a unit takes, how surely, and the verdict.
 *
 * Regression or improvement: the shift exceeds measured or assumed noise, every interval excludes
 * 0, the rank test is significant, and the samples are far apart (A12). If nothing is proven of the
 * typical unit, a change of the mean counts as well: it exceeds its noise, its interval excludes 0,
 * and units assigned to the sides at random seldom differ as much.
 *
 * Neutral: the whole interval lies within the noise, and so does the change of the mean. Drift
 * makes a change harder to prove, not easier to rule out.
 *
 * Mixed: the typical unit is proven to change one way and the mean changes the other way, not only
 * by one or two slow units. This happens when pauses go away while every unit becomes slower.
 *
 * Anything else is inconclusive, and says what would settle it.
 */
#include <math.h>
#include "base/stat.h"
#include "diff/diff.h"

const char *const nsx_verdict_names[] = {"neutral", "improvement",
					 "regression", "mixed",
					 "inconclusive"};

#define DRIFT 0.01
#define APART 0.71 /* A12 of a large effect (Vargha and Delaney) */

const char nsx_calibrated[] = "runs of the same code differ as much";
const char nsx_unmeasured[] = "below 2 % runs of the same code may differ; "
			      "--calibrate measures by how much";

/* One side ----------------------------------------------------------------------*/

static void step_widen(struct nsx_interval *x, double to)
{
	x->lo = NSX_MIN(x->lo, to);
	x->hi = NSX_MAX(x->hi, to);
}

/* Measures how captures differ, and drift: the medians of their halves, their medians, and their
 * slopes.
 */
static void compare_within(const struct nsx_sample *s, int64_t *scratch, struct nsx_spread *ret)
{
	struct nsx_interval halves = {INFINITY, -INFINITY}, medians = {INFINITY, 0};
	size_t from = 0;

	for (size_t c = 0; c < s->ncaptures; from = s->end[c++]) {
		size_t n = s->end[c] - from, half = n / 2;
		struct nsx_err err;
		double slope = nsx_slope(s->v + from, n, &err);

		if (isnan(slope))
			nsx_die_of_memory(n);
		if (fabs(slope * (double)n) > fabs(ret->drift))
			ret->drift = slope * (double)n;
		memcpy(scratch, s->v + from, n * sizeof(*scratch));
		if (n > 1) {
			double first = nsx_quantile(scratch, half, 0.5);
			double second = nsx_quantile(scratch + half, n - half, 0.5);

			step_widen(&halves, first > 0 ? second / first - 1 : 0);
		}
		step_widen(&medians, nsx_quantile(scratch, n, 0.5));
	}
	ret->drift = ret->median_ns > 0 ? ret->drift / ret->median_ns : 0;
	ret->drifting = fabs(ret->drift) > DRIFT;
	if (halves.lo <= halves.hi)
		ret->all_halves = halves;
	ret->halves = -ret->all_halves.lo > ret->all_halves.hi ?
			      ret->all_halves.lo : ret->all_halves.hi;
	ret->captures = medians.lo > 0 && medians.hi > 0 ? medians.hi / medians.lo - 1 : 0;
}

/* Measures the spread of a sample. sorted: receives the sample in ascending order. */
static void step_spread_of(const struct nsx_sample *s, int64_t *sorted, struct nsx_spread *ret)
{
	const double qs[] = {0.5, 0.95};
	double q[2];

	ret->n = s->n;
	ret->ncaptures = s->ncaptures;
	memcpy(sorted, s->v, s->n * sizeof(*sorted));
	nsx_quantiles(sorted, s->n, qs, 2, q);
	ret->median_ns = q[0];
	ret->p95_ns = q[1];
	ret->mean_ns = nsx_mean(s->v, s->n);
	ret->cv = s->n > 1 && ret->mean_ns > 0 ? nsx_stddev(s->v, s->n) / ret->mean_ns : 0;
	compare_within(s, sorted, ret);
	memcpy(sorted, s->v, s->n * sizeof(*sorted));
	nsx_sort(sorted, s->n, sizeof(*sorted), nsx_cmp_i64);
}

/* The verdict -------------------------------------------------------------------*/

static double largest_shift_ns(const struct nsx_step *c)
{
	return NSX_MAX(NSX_MAX(fabs(c->ci_ns.lo), fabs(c->ci_ns.hi)),
		       NSX_MAX(fabs(c->blocks_ns.lo), fabs(c->blocks_ns.hi)));
}

static bool excludes_zero(const struct nsx_interval *x)
{
	return x->lo > 0 || x->hi < 0;
}

static bool is_above_floor(const struct nsx_step *c, double rel)
{
	return fabs(rel) >= c->floor.at && fabs(rel) * c->side[0].median_ns >= c->floor_ns;
}

/* Units or captures needed for the interval to exclude 0 or, for a change within the noise,
 * to lie within the noise. The width shrinks with their square root. 0: too many to name.
 */
enum { MOST_TIMES = 100 };

static double settle_with(const struct nsx_step *c, bool captures)
{
	double half = (NSX_MAX(c->ci_ns.hi, c->blocks_ns.hi) -
		       NSX_MIN(c->ci_ns.lo, c->blocks_ns.lo)) / 2;
	double room = is_above_floor(c, c->rel) ? fabs(c->shift_ns) :
		      c->noise * c->side[0].median_ns - fabs(c->shift_ns);
	size_t n = captures ?
		NSX_MAX(c->side[0].ncaptures, c->side[1].ncaptures) :
		NSX_MAX(c->side[0].n, c->side[1].n);
	double want = room > 0 ? ceil((double)n * (half / room) * (half / room)) : 0;

	return want > (double)n && want <= MOST_TIMES * (double)n ? want : 0;
}

/* Leaves the verdict open: sets why nothing can be concluded, and what would settle it. */
static void leave_open(struct nsx_step *c, bool captures, const char *why, struct nsx_arena *a)
{
	c->settle = settle_with(c, captures);
	c->why = c->settle > 0 ?
		nsx_arena_printf(a, "%s; about %.0f %s a side would settle it", why, c->settle,
				 captures ? "captures" : "units") :
		nsx_arena_printf(a, "%s; more captures a side would tell", why);
}

/* Sets the verdict for a proven change of the typical unit. */
static void set_proven_verdict(struct nsx_step *c, struct nsx_arena *a)
{
	c->verdict = c->shift_ns > 0 ? NSX_V_REGRESSION : NSX_V_IMPROVEMENT;
	if (!c->mean_opposes)
		return;
	if (c->mean_recurs)
		c->verdict = NSX_V_BOTH_WAYS;
	c->why = nsx_arena_printf(a, "a typical unit changes by %s, but the mean by %s%s",
				  nsx_text_ratio(a, c->rel), nsx_text_ratio(a, c->mean_rel),
				  c->verdict == NSX_V_BOTH_WAYS ? "" :
				  ", perhaps by chance");
}

/* Whether a change is proven that only the mean shows: slow units came or went. */
static bool proves_mean(const struct nsx_step *c, double alpha)
{
	double change_ns = c->side[1].mean_ns - c->side[0].mean_ns;

	return c->mean_recurs && fabs(change_ns) > c->mean_floor.at &&
	       excludes_zero(&c->mean_ci_ns) && c->mean_p < alpha;
}

static void call_mean(struct nsx_step *c, struct nsx_arena *a)
{
	c->mean_alone = true;
	c->verdict = c->mean_rel > 0 ? NSX_V_REGRESSION : NSX_V_IMPROVEMENT;
	c->why = nsx_arena_printf(a, "the mean changes by %s, but no change of a typical unit is "
				  "proven", nsx_text_ratio(a, c->mean_rel));
}

static void step_judge(struct nsx_step *c, double alpha, struct nsx_arena *a)
{
	double noise_ns = c->noise * c->side[0].median_ns;
	bool captures = nsx_enough_captures(c->side[0].ncaptures, c->side[1].ncaptures);
	bool apart = c->test.a12 > APART || c->test.a12 < 1 - APART;

	c->verdict = NSX_V_INCONCLUSIVE;
	if (NSX_MIN(c->side[0].n, c->side[1].n) < NSX_LEAST_UNITS) {
		c->why = "fewer than 4 units on a side; longer captures would tell";
		c->settle = NSX_LEAST_UNITS;
	} else if (c->has_steady &&
		   (is_above_floor(c, c->rel) !=
			    is_above_floor(c, c->steady_rel) ||
		    (is_above_floor(c, c->rel) &&
		     c->steady_rel * c->rel < 0))) {
		c->why = nsx_arena_printf(a, "steady units alone change by %s; compare those, with "
					  "--steps", nsx_text_ratio(a, c->steady_rel));
	} else if (is_above_floor(c, c->rel) && excludes_zero(&c->ci_ns) &&
		   excludes_zero(&c->blocks_ns) && c->test.p < alpha && apart) {
		set_proven_verdict(c, a);
	} else if (proves_mean(c, alpha)) {
		call_mean(c, a);
	} else if (largest_shift_ns(c) > noise_ns) {
		if (c->floor.at > c->noise && !is_above_floor(c, c->rel))
			c->why = c->floor.is;
		else
			leave_open(c, captures, is_above_floor(c, c->rel) ?
				   "units vary too much for their number" :
				   "the interval reaches beyond the noise", a);
	} else if (fabs(c->mean_rel) >= c->noise) {
		c->why = nsx_arena_printf(a, "typical units are alike, but slow ones change the "
					  "mean by %s; more captures a side would tell whether by "
					  "chance", nsx_text_ratio(a, c->mean_rel));
	} else {
		c->verdict = NSX_V_NEUTRAL;
	}
}

/* Measuring ---------------------------------------------------------------------*/

static void measure_steady(const struct nsx_diff *d, uint32_t lane, struct nsx_arena *a,
			   struct nsx_step *ret)
{
	struct nsx_sample s[2];

	for (unsigned i = 0; i < 2; i++) {
		s[i] = nsx_pool_sample(&d->pool[i], lane, true, a);
		if (s[i].n < NSX_LEAST_UNITS)
			return;
		nsx_sort((int64_t *)s[i].v, s[i].n, sizeof(*s[i].v), nsx_cmp_i64);
	}
	ret->has_steady = ret->side[0].median_ns > 0;
	ret->steady_rel = nsx_shift_of(s[1].v, s[1].n, s[0].v, s[0].n) / ret->side[0].median_ns;
}

/* The drift of units from the first to the last of a capture, in ns. 0 unless the drift explains a
 * quarter of the units' variation (values on a line of length 1 have a deviation of 1/sqrt(12)).
 */
static double course_ns(const struct nsx_spread *s)
{
	return s->drift * s->drift / 12 < s->cv * s->cv / 4 ? 0 : s->drift * s->median_ns;
}

/* Mean length of a share in the units of a lane or, for a job, of its first one. */
static double step_mean_of(const struct nsx_diff *d, unsigned side, uint32_t lane,
			   enum nsx_share share)
{
	const struct nsx_lane *l = &d->pool[side].lanes[lane == NSX_NONE ? 0 : lane];
	double ns = 0;

	for (size_t u = 0; u < l->nunits; u++)
		ns += (double)l->units[u].ns[share] / (double)l->nunits;
	return ns;
}

/* Raises the floor of units that mostly wait for the host, or for copies, which it may make itself.
 */
static void raise_by_host(const struct nsx_diff *d, uint32_t lane, struct nsx_step *c)
{
	bool idles = true, waits = true;

	for (unsigned s = 0; s < 2; s++) {
		double idle_ns = step_mean_of(d, s, lane, NSX_SHARE_IDLE);

		idles &= idle_ns > 0.5 * c->side[s].mean_ns;
		waits &= idle_ns + step_mean_of(d, s, lane, NSX_SHARE_COPY) > 0.5 * c->side[s].mean_ns;
	}
	if (waits)
		nsx_raise_floor(&c->floor, (idles ? nsx_noise_of_host(&d->totals, NSX_OF_HOST) :
					 nsx_noise_of_copies(&d->totals, 0)) *
					   NSX_MAX(c->side[0].median_ns, c->side[1].median_ns) /
					   c->side[0].median_ns,
				idles ? "the GPU waits for the host for most of the time, and runs "
					"of the same code may differ as much; 3 runs a side would "
					"tell" :
					"most of the time is copies, and the host's calls take a "
					"different time each, so a faster or slower host may be "
					"the whole reason; 3 runs a side would tell");
}

/* Raises the floor by the drift of the captures. With few captures the interval does not include
 * the difference between captures, so the floor is raised by that difference, too, and by how much
 * the host's time differs between runs. With enough captures only differences between their drifts
 * count, because a drift that all share is equal on both sides.
 */
static void raise_floors(const struct nsx_diff *d, uint32_t lane, struct nsx_step *c)
{
	const struct nsx_spread *x = &c->side[0], *y = &c->side[1];
	bool enough = nsx_enough_captures(x->ncaptures, y->ncaptures);

	if (x->drifting || y->drifting)
		nsx_raise_floor(&c->floor, enough ? NSX_MAX(x->all_halves.hi, y->all_halves.hi) -
						    NSX_MIN(x->all_halves.lo,
							    y->all_halves.lo) :
						    NSX_MAX(fabs(x->halves), fabs(y->halves)),
				enough ? "captures drift, and not all of them as much; compare "
					 "steady parts, with --steps" :
					 "a capture drifts, and its halves differ as much; compare "
					 "steady parts, with --steps");
	if (!enough && course_ns(x) * course_ns(y) > 0)
		nsx_raise_floor(&c->floor, fabs(course_ns(x) + course_ns(y)) / x->median_ns,
				"the units of both sides change as much from the first to the "
				"last; compare the same parts, with --steps");
	if (!enough)
		nsx_raise_floor(&c->floor, NSX_MAX(x->captures, y->captures),
				"captures of one side differ as much; 3 or more a side would tell");
	if (d->totals.costs_differ && x->median_ns > 0)
		nsx_raise_floor(&c->floor, fabs(step_mean_of(d, 1, lane, NSX_SHARE_IDLE) -
						step_mean_of(d, 0, lane, NSX_SHARE_IDLE)) /
						   x->median_ns, nsx_costs_differ);
	if (!enough && c->floor.is != nsx_calibrated)
		raise_by_host(d, lane, c);
}

/* Mean without the `longest` longest values; v ascending. */
static double mean_without(const int64_t *v, size_t n, size_t longest)
{
	return nsx_mean(v, n > longest ? n - longest : n);
}

/* Whether the mean changes by more than noise in the direction of `way`. */
static bool is_beyond(const struct nsx_noise *noise, double before_ns, double after_ns, double way)
{
	double mean_ns = after_ns - before_ns;

	return mean_ns * way > 0 &&
	       fabs(mean_ns) >= NSX_MAX(NSX_NOISE, noise->rel) * before_ns &&
	       fabs(mean_ns) >= noise->abs;
}

/* Decides whether the mean changes, and whether it opposes the typical unit. v: the samples in
 * ascending order. Requires the shift and the floors.
 */
static void weigh_mean(const struct nsx_diff_opts *o, int64_t *const v[2], struct nsx_step *c)
{
	const struct nsx_noise *noise = &o->noise.of[NSX_METRIC_MEAN];
	const struct nsx_spread *s = c->side;
	double way = s[1].mean_ns - s[0].mean_ns;

	if (s[0].median_ns <= 0)
		return;
	c->rel = c->shift_ns / s[0].median_ns;
	c->mean_rel = way / s[0].mean_ns;
	c->mean_opposes = way * c->shift_ns < 0 && is_above_floor(c, c->rel) &&
			  is_beyond(noise, s[0].mean_ns, s[1].mean_ns, way);
	c->mean_recurs = is_beyond(noise, mean_without(v[0], s[0].n, NSX_CHANCE),
				   mean_without(v[1], s[1].n, NSX_CHANCE), way);
}

static void raise_by(const struct nsx_sample *s, bool halves, struct nsx_floor *floor)
{
	struct nsx_interval means = {INFINITY, -INFINITY};
	size_t from = 0;

	for (size_t c = 0; c < s->ncaptures; from = s->end[c++]) {
		size_t n = s->end[c] - from;

		if (!n)
			continue;
		step_widen(&means, nsx_mean(s->v + from, n));
		if (halves && n > 1)
			nsx_raise_floor(floor, fabs(nsx_mean(s->v + from, n / 2) -
						    nsx_mean(s->v + from + n / 2, n - n / 2)),
					"the halves of a capture differ as much");
	}
	if (means.hi > means.lo)
		nsx_raise_floor(floor, means.hi - means.lo, "captures of one side differ as much");
}

void nsx_raise_within(const struct nsx_sample s[2], bool halves, struct nsx_floor *floor)
{
	if (nsx_enough_captures(s[0].ncaptures, s[1].ncaptures))
		return;
	raise_by(&s[0], halves, floor);
	raise_by(&s[1], halves, floor);
}

/* Measures how surely the mean changes. A drift lengthens the mean of units as much as
 * their median.
 */
static void step_measure_mean(const struct nsx_diff_opts *o, const struct nsx_sample s[2],
			      struct nsx_step *c)
{
	const struct nsx_noise *noise = &o->noise.of[NSX_METRIC_MEAN];
	double before = c->side[0].mean_ns;

	c->mean_floor = (struct nsx_floor){NSX_NOISE * before, nsx_unmeasured};
	nsx_raise_floor(&c->mean_floor, NSX_MAX(noise->abs, noise->rel * before), nsx_calibrated);
	if (c->floor.at > c->noise)
		nsx_raise_floor(&c->mean_floor, c->floor.at * before, c->floor.is);
	nsx_raise_within(s, true, &c->mean_floor);
	c->mean_ci_ns = nsx_bootstrap(s, NSX_FIGURE_MEAN, o->alpha, o->seed);
	c->mean_p = nsx_mean_test(s, o->seed);
}

struct nsx_step nsx_step_measure(const struct nsx_diff *d, uint32_t lane)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	const struct nsx_diff_opts *o = d->opts;
	const struct nsx_noise *noise = &o->noise.of[NSX_METRIC_STEP];
	struct nsx_step ret = {.noise = NSX_MAX(NSX_NOISE, noise->rel), .floor_ns = noise->abs};
	struct nsx_sample s[2];
	int64_t *v[2];

	ret.floor = (struct nsx_floor){
		ret.noise, noise->rel > NSX_NOISE || noise->abs > 0 ?
		nsx_calibrated : nsx_unmeasured};
	for (unsigned i = 0; i < 2; i++) {
		s[i] = nsx_pool_sample(&d->pool[i], lane, false, a);
		v[i] = nsx_arena_get(a, s[i].n * sizeof(*v[i]));
		step_spread_of(&s[i], v[i], &ret.side[i]);
	}
	ret.shift_ns = nsx_shift_of(v[1], s[1].n, v[0], s[0].n);
	ret.test = nsx_rank_test(v[1], s[1].n, v[0], s[0].n);
	ret.blocks_ns = nsx_bootstrap(s, NSX_FIGURE_SHIFT, o->alpha, o->seed);
	/* With enough captures, variation between them counts as well. */
	ret.ci_ns = nsx_enough_captures(s[0].ncaptures, s[1].ncaptures) ? ret.blocks_ns :
			    nsx_shift_interval(v[1], s[1].n, v[0], s[0].n, o->alpha);
	raise_floors(d, lane, &ret);
	weigh_mean(o, v, &ret);
	step_measure_mean(o, s, &ret);
	if (ret.side[0].median_ns > 0)
		measure_steady(d, lane, a, &ret);
	step_judge(&ret, o->alpha, d->arena);
	return ret;
}
