/* totals.c - compares sides as wholes: what changed, whether the work is the same, and a
 * verdict if no unit of work repeats.
 *
 * A single run per side does not tell how much runs differ. So floors are assumed: the
 * differences seen between runs of the same program on the same machine.
 */
#include <math.h>
#include "base/figures.h"
#include "base/stat.h"
#include "diff/emit.h"

#define ALIKE 0.02 /* greatest difference, as a ratio, of bytes and threads of the same work */
#define OF_KERNELS 0.05	  /* floor of kernels, as a share of their time */
#define OF_FEW_KERNELS 0.15
#define MIGRATING 0.25	  /* floor of kernels while pages migrate, if there are few kernels */
#define OF_COPIES 0.06
#define OF_HOST_NS 2e6
#define OF_GPU_NS 2e4
#define OF_MIGRATION_NS 2e5
/* least change, relative to the whole run, of a part that decides something */
#define OF_WHOLE 0.02
#define NO_CHANGE 0.05	  /* a smaller change of the whole run is none (judge_pair) */
/* a unit counts as alike if at least this share of its kernel time is in equal kernels */
#define SAME_KERNELS 0.9
#define SAME_SPEED 0.02	  /* greatest ratio by which the host's calls differ at equal speed */
/* greatest sum of all floors, relative to the whole run, for a verdict of no change */
#define SURE 0.12
/* least change of the time outside of the whole that is mentioned, relative to the recording */
#define OF_OUTSIDE 0.05
enum { FEW = 30 };

/* Comparing ----------------------------------------------------------------------*/

#define AT(figure) offsetof(struct nsx_totals, figure)

/* Averages the captures of a side. Lists, such as calls, are those of the first capture. Returns
 * whether the whole is known.
 */
static bool average_totals(const struct nsx_diff *d, unsigned side, struct nsx_totals *ret)
{
	static const size_t figures[] = {
		AT(ns[0]), AT(ns[1]), AT(ns[2]), AT(ns[3]), AT(bytes[0]), AT(bytes[1]),
		AT(bytes[2]), AT(copy_ns[0]), AT(copy_ns[1]), AT(copy_ns[2]), AT(recorded_ns),
		AT(judged_ns), AT(launches), AT(threads), AT(kernel_ns)};
	int64_t n = NSX_MAX((int64_t)d->nsides[side], 1);

	*ret = d->sides[side][0]->totals;
	for (size_t k = 0; k < ARRAY_LEN(figures); k++) {
		int64_t *mean = (void *)((char *)ret + figures[k]);

		/* launches are rounded */
		*mean = figures[k] == AT(launches) ? n / 2 : 0;
		for (int64_t i = 0; i < n; i++)
			*mean += *(const int64_t *)((const char *)&d->sides[side][i]->totals +
						    figures[k]);
		*mean /= n;
	}
	ret->span_ns = 0;
	for (unsigned k = 0; k < NSX_NTOTALS; k++)
		ret->span_ns += ret->ns[k];
	for (int64_t i = 1; i < n; i++) {
		ret->known &= d->sides[side][i]->totals.known;
		ret->migrates |= d->sides[side][i]->totals.migrates;
	}
	return ret->known;
}

static bool totals_is_alike(double x, double y)
{
	return fabs(x - y) <= ALIKE * NSX_MAX(x, y);
}

double nsx_bytes_of(const struct nsx_totals *t)
{
	double bytes = 0;

	for (unsigned k = 0; k < NSX_NDIRECTIONS; k++)
		bytes += (double)t->bytes[k];
	return bytes;
}

static double judged_ns(const struct nsx_totals *t)
{
	return (double)(t->span_ns - t->ns[NSX_TOTAL_ONE_TIME]);
}

/* Whether a part takes more than a given share of the time on both sides. */
static bool takes_share(const struct nsx_totals_change *c, enum nsx_total_part part, double share)
{
	return (double)c->side[0].ns[part] > share * judged_ns(&c->side[0]) &&
	       (double)c->side[1].ns[part] > share * judged_ns(&c->side[1]);
}

/* Whether both sides do the same work: as many threads and bytes. Threads decide alone if kernels
 * take some of the time, or are launched in the same order; few kernels need equal bytes, too.
 * Bytes decide alone if copies take most of the time, or if equally many kernels are launched.
 */
static bool is_same_work(const struct nsx_totals_change *c)
{
	bool few = NSX_MIN(c->side[0].launches, c->side[1].launches) < FEW;
	bool computes = takes_share(c, NSX_TOTAL_KERNELS, OF_WHOLE);
	bool same_copies = c->same_bytes && nsx_bytes_of(&c->side[0]) > 0;

	return (c->same_threads && (same_copies || (few ? c->same_bytes && computes :
							  c->in_step || computes))) ||
	       (same_copies &&
		(totals_is_alike((double)c->side[0].launches, (double)c->side[1].launches) ||
		 takes_share(c, NSX_TOTAL_COPIES, 0.5)));
}

static double host_speed(const struct nsx_totals *x, const struct nsx_totals *y)
{
	double sum = 0, weight = 0;

	for (size_t i = 0; i < x->ncalls; i++)
		for (size_t k = 0; k < y->ncalls; k++) {
			const struct nsx_call_speed *b = &x->calls[i];
			const struct nsx_call_speed *a = &y->calls[k];
			double w = (double)(NSX_MIN(a->count, b->count) * b->median_ns);

			if (strcmp(a->name, b->name) != 0 || w <= 0 ||
			    NSX_MAX(a->count, b->count) > 2 * NSX_MIN(a->count, b->count))
				continue;
			sum += w * (double)a->median_ns / (double)b->median_ns;
			weight += w;
		}
	return weight > 0 ? sum / weight : NAN;
}

/* Compares launches of the same kernels one by one: the i-th before with the i-th after. */
static void compare_in_step(const struct nsx_diff *d, struct nsx_totals_change *c)
{
	const struct nsx_launch_block *b = c->side[0].blocks, *a = c->side[1].blocks;
	double all[2] = {0}, mean, error = 0;
	size_t n = c->side[0].nblocks;

	if (!n || n != c->side[1].nblocks || c->side[0].launches != c->side[1].launches ||
	    c->side[0].sequence != c->side[1].sequence || d->nsides[0] + d->nsides[1] > 2)
		return;
	for (size_t k = 0; k < n; k++) {
		all[0] += (double)b[k].ns;
		all[1] += (double)a[k].ns;
	}
	if (all[0] <= 0)
		return;
	mean = all[1] / all[0] - 1;
	for (size_t k = 0; k < n; k++) { /* jackknife estimate of the error */
		double rest = all[0] - (double)b[k].ns;
		double x = rest > 0 ? (all[1] - (double)a[k].ns) / rest - 1 : mean;

		error += (x - mean) * (x - mean);
	}
	/* t distribution with 31 degrees of freedom */
	error = 2.04 * sqrt(error * (double)(n - 1) / (double)n);
	c->in_step = true;
	c->in_step_rel = mean;
	c->in_step_ci = (struct nsx_interval){mean - error, mean + error};
}

void nsx_totals_compare(struct nsx_diff *d)
{
	struct nsx_totals_change *c = &d->totals;
	bool before = average_totals(d, 0, &c->side[0]);

	c->costs_differ = NSX_ANY(i, d->nall, d->all[i]->on_host != d->all[0]->on_host);
	c->known = average_totals(d, 1, &c->side[1]) && before;
	if (!c->known)
		return;
	c->host_speed = host_speed(&c->side[0], &c->side[1]);
	c->same_bytes = totals_is_alike(nsx_bytes_of(&c->side[0]), nsx_bytes_of(&c->side[1]));
	c->same_threads = totals_is_alike((double)c->side[0].threads, (double)c->side[1].threads);
	compare_in_step(d, c);
	c->same_work = is_same_work(c);
	c->pairs_up = c->in_step || (c->same_threads && c->same_bytes &&
				     (d->nall == 2 || nsx_enough_captures(d->nsides[0],
									  d->nsides[1])));
}

/* The verdict --------------------------------------------------------------------*/

static double floor_of_kernels(const struct nsx_totals_change *c)
{
	bool few = NSX_MIN(c->side[0].launches, c->side[1].launches) < FEW;

	return !few ? OF_KERNELS : OF_FEW_KERNELS +
		(c->side[0].migrates || c->side[1].migrates ? MIGRATING : 0);
}

/* The time to which a part's floor applies. */
static double uncertain(const struct nsx_totals_change *c, enum nsx_total_part part)
{
	return (double)NSX_MAX(c->side[0].ns[part], c->side[1].ns[part]);
}

static int sign_beyond(double change, double floor)
{
	return (change > floor) - (change < -floor);
}

static double change_in(const struct nsx_totals_change *c, enum nsx_total_part part)
{
	return (double)(c->side[1].ns[part] - c->side[0].ns[part]);
}

const char nsx_costs_differ[] =
	"one side recorded more of what the host does, which takes time, so that a change of idle "
	"time proves nothing; capture both sides alike";

/* Judges with three runs per side, by a t test: a change beyond noise is proven, or none is seen
 * where the runs vary too little to hide a large one.
 */
static enum nsx_verdict judge_samples(const struct nsx_diff *d, double delta, const char **why)
{
	double before = judged_ns(&d->totals.side[0]), squares = 0, error;
	double noise = NSX_MAX(NSX_NOISE, d->opts->noise.of[NSX_METRIC_STEP].rel) * before;
	unsigned df = (unsigned)d->nall - 2;

	if (d->totals.costs_differ)
		noise = NSX_MAX(noise, fabs(change_in(&d->totals, NSX_TOTAL_IDLE)));
	for (unsigned s = 0; s < 2; s++)
		for (size_t i = 0; i < d->nsides[s]; i++) {
			double x = judged_ns(&d->sides[s][i]->totals) -
				   judged_ns(&d->totals.side[s]);

			squares += x * x;
		}
	error = sqrt(squares / df * (1 / (double)d->nsides[0] + 1 / (double)d->nsides[1]));
	if (fabs(delta) >= noise && nsx_t_test(delta / error, df) < d->opts->alpha)
		return delta > 0 ? NSX_V_REGRESSION : NSX_V_IMPROVEMENT;
	if (fabs(delta) < noise && nsx_t_test(SURE * before / error, df) < d->opts->alpha)
		return NSX_V_NEUTRAL;
	*why = "runs of one side differ too much; more of them would tell";
	return NSX_V_INCONCLUSIVE;
}

double nsx_noise_of_host(const struct nsx_totals_change *c, double least)
{
	return !c->known || isnan(c->host_speed) ? least :
	       NSX_MAX(least, 2 * (NSX_MAX(c->host_speed, 1 / c->host_speed) - 1));
}

double nsx_noise_of_copies(const struct nsx_totals_change *c, double least)
{
	return NSX_MIN(nsx_noise_of_host(c, least), NSX_OF_HOST);
}

/* Judges kernels and copies together, as they hide each other. Runs that launch the same kernels in
 * the same order hide alike, so there one of the two is enough if the other does not take it back.
 */
static int judge_gpu(const struct nsx_totals_change *c, double small, double *ret_floor)
{
	static const enum nsx_total_part parts[] = {NSX_TOTAL_KERNELS, NSX_TOTAL_COPIES};
	const double of[] = {floor_of_kernels(c), nsx_noise_of_copies(c, OF_COPIES)};
	bool migrates = c->side[0].migrates || c->side[1].migrates;
	double gpu = change_in(c, NSX_TOTAL_KERNELS) + change_in(c, NSX_TOTAL_COPIES);
	int way = sign_beyond(gpu, small), alone = 0;

	*ret_floor = migrates ? OF_MIGRATION_NS : OF_GPU_NS;
	for (unsigned k = 0; k < ARRAY_LEN(parts); k++) {
		double floor = of[k] * uncertain(c, parts[k]);

		*ret_floor += floor;
		if (c->in_step && sign_beyond(change_in(c, parts[k]), NSX_MAX(floor, small)) == way)
			alone = way;
	}
	return sign_beyond(gpu, NSX_MAX(*ret_floor, small)) ?: alone;
}

/* The part of a change in a direction that one or two pauses of a GPU make. They are compared with
 * pauses between the same kernels or, if the sides launch others, with those of the same rank.
 */
static double by_chance(const struct nsx_totals_change *c, int sign)
{
	const struct nsx_totals *longer = &c->side[sign > 0], *other = &c->side[sign < 0];
	int64_t ret = 0;

	for (uint32_t g = 0; g < longer->ngpus && g < other->ngpus; g++) {
		const struct nsx_pause *v = longer->pauses[g], *of = other->pauses[g];
		int64_t more[NSX_NPAUSES], sum = 0;
		unsigned met = 0;

		for (size_t k = 0; k < NSX_NPAUSES; k++) {
			size_t same = 0;

			while (same < NSX_NPAUSES && (met >> same & 1 ||
			       (c->in_step && of[same].at != v[k].at)))
				same++;
			more[k] = v[k].ns - (same < NSX_NPAUSES ? of[same].ns : 0);
			met |= 1u << same;
		}
		nsx_sort(more, NSX_NPAUSES, sizeof(*more), nsx_cmp_i64);
		for (size_t k = NSX_NPAUSES - NSX_CHANCE; k < NSX_NPAUSES; k++)
			sum += NSX_MAX(more[k], 0);
		ret = NSX_MAX(ret, sum);
	}
	return (double)ret;
}

/* Judges with one run per side, by floors. These are relative to the longer side, so that the
 * verdict turns round with the sides.
 */
static enum nsx_verdict judge_pair(const struct nsx_totals_change *c, double delta,
				   const char **why)
{
	double whole = NSX_MAX(judged_ns(&c->side[0]), judged_ns(&c->side[1]));
	double small = OF_WHOLE * whole, gpu_floor;
	double idle = change_in(c, NSX_TOTAL_IDLE);
	double idle_of = uncertain(c, NSX_TOTAL_IDLE);
	double idle_floor = nsx_noise_of_host(c, NSX_OF_HOST) * idle_of + OF_HOST_NS;
	int of_gpu = judge_gpu(c, small, &gpu_floor);
	int of_idle = c->costs_differ ? 0 : sign_beyond(idle, NSX_MAX(idle_floor, small));
	/* equal runs stay neutral: the floor that copies get because the host may slow them is left
	 * out here
	 */
	double sure = gpu_floor + idle_floor - uncertain(c, NSX_TOTAL_COPIES) *
		(nsx_noise_of_copies(c, OF_COPIES) - OF_COPIES);
	bool is_of_host = sign_beyond(idle, NSX_MAX(NSX_OF_HOST * idle_of + OF_HOST_NS, small));
	int sign = of_gpu ? of_gpu : of_idle;

	if (of_gpu * of_idle < 0)
		sign = sign_beyond(delta, gpu_floor + idle_floor);
	if (sign && sign * delta > small) {
		if (sign * delta - by_chance(c, sign) > small)
			return sign > 0 ? NSX_V_REGRESSION : NSX_V_IMPROVEMENT;
		*why = "one or two pauses make the change, perhaps by chance; 3 runs a side would "
		       "tell";
		return NSX_V_INCONCLUSIVE;
	}
	if (!sign && !is_of_host && sure < SURE * whole &&
	    fabs(delta) < NO_CHANGE * whole)
		return NSX_V_NEUTRAL;
	if (of_gpu * of_idle < 0) {
		*why = of_gpu < 0 ? "kernels and copies take less time, the host and idle more" :
				    "kernels and copies take more time, the host and idle less";
		return NSX_V_BOTH_WAYS;
	}
	*why = sign * delta < -small ?
		       (sign > 0 ? "a part takes longer, though the whole takes less" :
				   "a part takes less, though the whole takes longer") :
	       sign ? "what one part gained another lost: the whole takes about as long" :
	       is_of_host && c->costs_differ ? nsx_costs_differ :
		       is_of_host ?
		      "the host's calls take a different time each, so a faster or slower host may "
		      "be the whole reason; 3 runs a side would tell" :
	       fabs(delta) < NO_CHANGE * whole ?
		      "one run a side does not rule a change out; 3 runs a side would tell" :
		      "one run a side, and runs of the same code may differ as much; 3 runs a "
		      "side would tell";
	return NSX_V_INCONCLUSIVE;
}

double nsx_totals_change(const struct nsx_totals_change *c)
{
	return judged_ns(&c->side[1]) - judged_ns(&c->side[0]);
}

enum nsx_verdict nsx_totals_judge(const struct nsx_diff *d, const char **why)
{
	const struct nsx_totals_change *c = &d->totals;
	double delta = nsx_totals_change(c);

	if (!c->same_work) {
		*why = "neither the bytes copied nor the threads launched say that "
		       "it is the same work";
		return NSX_V_INCONCLUSIVE;
	}
	if (nsx_enough_captures(d->nsides[0], d->nsides[1]) && judged_ns(&c->side[0]) > 0)
		return judge_samples(d, delta, why);
	return judge_pair(c, delta, why);
}

/* Texts --------------------------------------------------------------------------*/

const char *const nsx_total_names[NSX_NTOTALS] = {"kernels", "copies", "one-time gaps",
						  "host, idle"};

/* "90 ms instead of 100 ms (−10.0 %)" */
static const char *say_times(double before_ns, double after_ns, struct nsx_arena *a)
{
	const char *before = nsx_text_ns(a, before_ns), *after = nsx_text_ns(a, after_ns);
	bool is_equal = !strcmp(before, after);

	return nsx_arena_printf(a, "%s %s%s (%s)", after,
				is_equal ? "on both sides" : "instead of ", is_equal ? "" : before,
				nsx_text_ratio(a, before_ns > 0 ? after_ns / before_ns - 1 : 0));
}

const char *nsx_totals_sentence(const struct nsx_diff *d, struct nsx_arena *a)
{
	const struct nsx_totals *x = &d->totals.side[0], *y = &d->totals.side[1];
	const char *whole = say_times((double)x->span_ns, (double)y->span_ns, a);
	double rel = (double)y->span_ns / NSX_MAX((double)x->span_ns, 1);
	double judged = judged_ns(y) / NSX_MAX(judged_ns(x), 1);

	return fabs(rel - judged) < OF_WHOLE ? whole :
	       nsx_arena_printf(a, "%s apart from one-time gaps, and %s with them",
				say_times(judged_ns(x), judged_ns(y), a), whole);
}

/* "5000", or "110 → 410"; same: the second alone tells both. */
static const char *say_both(struct nsx_arena *a, const char *x, const char *y, bool same)
{
	return same || !*x || !strcmp(x, y) ? y : !*y ? x : nsx_arena_printf(a, "%s → %s", x, y);
}

/* Adds "to the GPU 17.1 → 19.0 GB/s" or "to the GPU 17.1 GB/s". */
static void add_rate(struct nsx_buf *b, const struct nsx_totals_change *c,
		     enum nsx_direction k, const char *way, struct nsx_arena *a)
{
	const char *rate[2];

	for (unsigned s = 0; s < 2; s++) {
		const struct nsx_totals *t = &c->side[s];

		if (t->copy_ns[k] <= 0 || t->bytes[k] <= 0)
			return;
		rate[s] = nsx_arena_printf(a, "%s/s", nsx_text_bytes(a, (double)t->bytes[k] * 1e9 /
								   (double)t->copy_ns[k]));
	}
	nsx_buf_printf(b, "%s%s %s", b->n ? ", " : "", way, say_both(a, rate[0], rate[1], false));
}

static void add_host_speed(struct nsx_buf *b, double speed)
{
	if (fabs(speed - 1) < SAME_SPEED)
		nsx_buf_adds(b, "calls that wait for nothing take as long as before");
	else
		nsx_buf_printf(b, "calls that wait for nothing take %.2f times as long", speed);
}

static const char *say_each(const struct nsx_totals *t, struct nsx_arena *a)
{
	return t->launches < 1 ? "none" :
	       nsx_text_ns(a, (double)t->kernel_ns / (double)t->launches);
}

/* Whether kernels run, but only in graphs that were recorded as a whole. */
static bool is_uncounted(const struct nsx_totals_change *c)
{
	return c->side[0].launches + c->side[1].launches < 1 &&
	       c->side[0].ns[NSX_TOTAL_KERNELS] + c->side[1].ns[NSX_TOTAL_KERNELS] > 0;
}

/* Whether copies do not take all of their row's time, which includes that of memsets. */
static bool has_memsets(const struct nsx_totals *t)
{
	int64_t ns = t->ns[NSX_TOTAL_COPIES];

	for (unsigned k = 0; k < NSX_NDIRECTIONS; k++)
		ns -= t->copy_ns[k];
	return (double)ns > OF_COPIES * (double)t->ns[NSX_TOTAL_COPIES];
}

static const char *note_on(const struct nsx_diff *d, enum nsx_total_part part, struct nsx_arena *a)
{
	const struct nsx_totals_change *c = &d->totals;
	struct nsx_buf b = {0};

	if (part == NSX_TOTAL_COPIES) {
		add_rate(&b, c, NSX_TO_GPU, "to the GPU", a);
		add_rate(&b, c, NSX_FROM_GPU, "back", a);
		add_rate(&b, c, NSX_OTHER_WAY, "within or between GPUs", a);
		if (has_memsets(&c->side[0]) || has_memsets(&c->side[1]))
			nsx_buf_adds(&b, b.n ? "; the rest memsets" : "memsets");
	} else if (part == NSX_TOTAL_KERNELS && c->in_step) {
		const char *lo = nsx_text_ratio(a, c->in_step_ci.lo);
		const char *hi = nsx_text_ratio(a, c->in_step_ci.hi);

		nsx_buf_printf(&b, "compared one by one%s %s", d->nlanes > 1 ? ", on all GPUs," : "",
			       nsx_text_ratio(a, c->in_step_rel));
		if (strcmp(lo, hi) != 0)
			nsx_buf_printf(&b, " (95 %% %s to %s)", lo, hi);
	} else if (part == NSX_TOTAL_KERNELS && !nsx_hides_work(d) && !is_uncounted(c)) {
		nsx_buf_printf(&b, "%s a launch", say_both(a, say_each(&c->side[0], a),
							   say_each(&c->side[1], a), false));
	} else if (part == NSX_TOTAL_ONE_TIME) {
		nsx_buf_printf(&b, "mostly %s; paid once, not judged",
			       say_both(a, c->side[0].one_time, c->side[1].one_time, false));
	} else if (part == NSX_TOTAL_IDLE && !isnan(c->host_speed)) {
		add_host_speed(&b, c->host_speed);
	}
	return nsx_buf_keep(&b, a);
}

static void add_padded(struct nsx_buf *b, const char *s, size_t width)
{
	size_t n = nsx_count_chars(s, strlen(s));

	nsx_buf_printf(b, "%s%*s", s, n < width ? (int)(width - n) : 0, "");
}

static void totals_add_row(struct nsx_buf *b, const char *const columns[4], const char *note)
{
	static const size_t widths[] = {15, 10, 10, 11};
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf row = {0};

	for (unsigned i = 0; i < ARRAY_LEN(widths); i++)
		add_padded(&row, columns[i], widths[i]);
	nsx_buf_adds(&row, note);
	while (row.n && row.p[row.n - 1] == ' ')
		row.p[--row.n] = '\0';
	nsx_buf_printf(b, "%s\n", row.p);
}

static void add_times(struct nsx_buf *b, const char *name, int64_t before_ns,
		      int64_t after_ns, const char *note, struct nsx_arena *a)
{
	totals_add_row(b, (const char *const[]){
		       name, nsx_text_ns(a, (double)before_ns), nsx_text_ns(a, (double)after_ns),
		       nsx_text_change(a, (double)(after_ns - before_ns))}, note);
}

int nsx_repeats_more(const struct nsx_diff *d, uint32_t lane, bool whole)
{
	const struct nsx_budget *unit = &d->lanes[lane].budget;
	const struct nsx_totals *x = &d->totals.side[0], *y = &d->totals.side[1];
	/* launches, or units of a capture */
	double before = (double)(whole ? x->launches : (int64_t)(d->pool[0].lanes[lane].nunits *
								 d->nsides[1]));
	double after = (double)(whole ? y->launches : (int64_t)(d->pool[1].lanes[lane].nunits *
								d->nsides[0]));
	bool each = totals_is_alike((double)x->threads * (double)y->launches,
				    (double)y->threads * (double)x->launches);
	bool repeats = whole ? each && !totals_is_alike(before, after) : nsx_launches_alike(d, lane);
	bool same = unit->nkernels ? unit->rho_share >= SAME_KERNELS : each && !whole;

	return repeats && same ? (after > before) - (after < before) : 0;
}

static void totals_add_work(struct nsx_buf *b, const struct nsx_diff *d, struct nsx_arena *a)
{
	const struct nsx_totals_change *c = &d->totals;
	const struct nsx_totals *x = &c->side[0], *y = &c->side[1];
	static const char *const differs[2][2] = {
		{"more steps were recorded: ", "fewer steps were recorded: "},
		{"more launches of the same kernels: ", "fewer launches of the same kernels: "}};
	bool whole = d->whole || c->decides;
	int more = nsx_repeats_more(d, 0, whole);

	for (uint32_t l = 1; l < d->nlanes; l++)
		more = nsx_repeats_more(d, l, whole) == more ? more : 0;
	nsx_buf_adds(b, c->same_work ? !c->same_bytes ? "same threads, other copies: " :
			!c->same_threads ? "same copies, other threads: " : "same work: " :
			nsx_hides_work(d) ? "kernels in CUDA graphs are not counted: " :
			nsx_has_same_steps(d) ? "the same steps by other kernels: " :
			!more ? "other work: " : differs[whole][more < 0]);
	if (nsx_bytes_of(x) + nsx_bytes_of(y) > 0)
		nsx_buf_printf(b, "%s copied, ", say_both(a, nsx_text_bytes(a, nsx_bytes_of(x)),
							  nsx_text_bytes(a, nsx_bytes_of(y)),
							  c->same_bytes));
	if (is_uncounted(c)) {
		nsx_buf_adds(b, "kernels in CUDA graphs are not counted\n");
		return;
	}
	nsx_buf_printf(b, "%s kernel launch%s, %s threads in all",
		       say_both(a, nsx_text_count(a, (double)x->launches),
				nsx_text_count(a, (double)y->launches),
				x->launches == y->launches),
		       x->launches == 1 && y->launches == 1 ? "" : "es",
		       say_both(a, nsx_text_count(a, (double)x->threads),
				nsx_text_count(a, (double)y->threads), c->same_threads));
	if (!c->same_threads && c->same_work &&
	    (y->threads < x->threads) == (y->kernel_ns < x->kernel_ns))
		nsx_buf_adds(b, y->threads < x->threads ? ": is a part no longer computed?" :
							  ": is more computed?");
	nsx_buf_adds(b, "\n");
}

/* Says "−47.0 %, first to last GPU operation", and how much was recorded if the time outside of this
 * changes.
 */
static const char *note_on_whole(const struct nsx_totals_change *c, struct nsx_arena *a)
{
	const struct nsx_totals *x = &c->side[0], *y = &c->side[1];
	double outside_ns = (double)(y->recorded_ns - y->span_ns - x->recorded_ns + x->span_ns);
	const char *before = nsx_text_ns(a, (double)x->recorded_ns);
	const char *after = nsx_text_ns(a, (double)y->recorded_ns);
	struct nsx_buf b = {0};

	nsx_buf_printf(&b, "%s, first to last GPU operation",
		       nsx_text_ratio(a, x->span_ns > 0 ? (double)y->span_ns /
						(double)x->span_ns - 1 : 0));
	if (fabs(outside_ns) > OF_OUTSIDE * (double)NSX_MAX(x->recorded_ns, y->recorded_ns) &&
	    strcmp(before, after) != 0)
		nsx_buf_printf(&b, "; recorded %s → %s", before, after);
	return nsx_buf_keep(&b, a);
}

const char *nsx_totals_lines(const struct nsx_diff *d, struct nsx_arena *a)
{
	const struct nsx_totals_change *c = &d->totals;
	const struct nsx_totals *x = &c->side[0], *y = &c->side[1];
	struct nsx_buf b = {0};

	if (!c->known)
		return "";
	totals_add_work(&b, d, a);
	totals_add_row(&b, (const char *const[]){"", "before", "after", "change"}, "");
	add_times(&b, "whole", x->span_ns, y->span_ns, note_on_whole(c, a), a);
	for (unsigned k = 0; k < NSX_NTOTALS; k++)
		if (x->ns[k] || y->ns[k])
			add_times(&b, nsx_total_names[k], x->ns[k], y->ns[k], note_on(d, k, a), a);
	return nsx_buf_keep(&b, a);
}
