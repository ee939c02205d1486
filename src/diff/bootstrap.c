/* bootstrap.c - how far a figure of two samples moves when units are drawn again.
 *
 * A draw is stored as the number of times that each unit was drawn, over values sorted once. For
 * the shift, all differences of both samples are sorted once as well. The median of a draw is near
 * that of the samples, so a few steps from there find it; sorting and searching each draw would
 * take some twenty times as long.
 */
#include <math.h>
#include "base/stat.h"
#include "diff/stats.h"

size_t nsx_block_length(const int64_t *v, size_t n)
{
	double mean = nsx_mean(v, n), square = 0;

	for (size_t i = 0; i < n; i++)
		square += ((double)v[i] - mean) * ((double)v[i] - mean);
	for (size_t lag = 1; lag < n / 2; lag++) {
		double sum = 0;

		for (size_t i = 0; i + lag < n; i++)
			sum += ((double)v[i] - mean) * ((double)v[i + lag] - mean);
		if (!(sum >= 0.2 * square))
			return lag;
	}
	return NSX_MAX(n / 2, 1);
}

/* A sample, thinned so that thousands of draws are cheap, and a draw of it. */
enum { MOST_DRAWN = 200 };

struct drawn {
	int64_t *v;		/* ascending, n of them */
	uint32_t *place;	/* by unit in order of time: its place in v */
	uint32_t *times;	/* how often the draw has each value of v */
	size_t total;		/* sum of `times` */
	size_t *end, *block;	/* by capture: end of its units; block length */
	size_t n, ncaptures;
};

struct placed {
	int64_t v;
	uint32_t at;
};

NSX_ORDER(cmp_placed, struct placed, UP(v), UP(at));

static void sort_units(struct drawn *d, struct nsx_arena *a)
{
	struct placed *sorted = nsx_arena_get(a, d->n * sizeof(*sorted));

	d->place = nsx_arena_get(a, d->n * sizeof(*d->place));
	d->times = nsx_arena_get(a, d->n * sizeof(*d->times));
	for (uint32_t i = 0; i < d->n; i++)
		sorted[i] = (struct placed){d->v[i], i};
	nsx_sort(sorted, d->n, sizeof(*sorted), cmp_placed);
	for (uint32_t i = 0; i < d->n; i++) {
		d->v[i] = sorted[i].v;
		d->place[sorted[i].at] = i;
	}
}

static void begin_drawing(const struct nsx_sample *s, struct nsx_arena *a, struct drawn *ret)
{
	size_t k = s->ncaptures, most = NSX_MAX(MOST_DRAWN / k, 1), at = 0;
	uint64_t state = s->n;

	*ret = (struct drawn){
		.ncaptures = k, .end = nsx_arena_get(a, k * sizeof(*ret->end)),
		.block = nsx_arena_get(a, k * sizeof(*ret->block)),
		.v = nsx_arena_get(a, NSX_MIN(s->n, most * k) * sizeof(*ret->v))};
	for (size_t c = 0; c < k; at = s->end[c++]) {
		size_t n = s->end[c] - at, kept = NSX_MIN(n, most);

		/* Keeps a random unit of each stretch. With a fixed position, a unit that recurs in
		 * every fifth place would always or never be kept.
		 */
		for (size_t i = 0; i < kept; i++) {
			size_t from = i * n / kept, to = (i + 1) * n / kept;

			ret->v[ret->n + i] = s->v[ at + from + nsx_random(&state) % (to - from)];
		}
		ret->block[c] = nsx_block_length(ret->v + ret->n, kept);
		ret->n += kept;
		ret->end[c] = ret->n;
	}
	sort_units(ret, a);
}

/* Draws captures with replacement, and from each capture as many units as it has. Captures differ
 * in length, so the draw stops at n units.
 */
static void draw_once(struct drawn *d, uint64_t *state)
{
	memset(d->times, 0, d->n * sizeof(*d->times));
	d->total = 0;
	for (size_t k = 0; k < d->ncaptures; k++) {
		size_t c = nsx_random(state) % d->ncaptures;
		size_t from = c ? d->end[c - 1] : 0, len = d->end[c] - from;
		size_t want = NSX_MIN(len, d->n - d->total);

		for (size_t i = 0, at = 0; i < want; i++) {
			if (i % d->block[c] == 0)
				at = nsx_random(state) % len;
			d->times[d->place[from + at]]++;
			at = at + 1 == len ? 0 : at + 1;
		}
		d->total += want;
	}
}

/* Figures of a draw -----------------------------------------------------------*/

static double mean_of(const struct drawn *d)
{
	double sum = 0;

	for (size_t i = 0; i < d->n; i++)
		sum += (double)d->v[i] * d->times[i];
	return sum / (double)d->total;
}

static int64_t kth_of(const struct drawn *d, size_t k)
{
	size_t i = 0;

	while (k >= d->times[i])
		k -= d->times[i++];
	return d->v[i];
}

static double p95_of(const struct drawn *d)
{
	double at = (double)(d->total - 1) * 0.95;
	size_t k = (size_t)at;
	int64_t low = kth_of(d, k);
	int64_t high = kth_of(d, NSX_MIN(k + 1, d->total - 1));

	return (double)low + (at - (double)k) * (double)(high - low);
}

struct difference { /* sorted differences x[i] - y[j] */
	int64_t ns;
	uint32_t i, j;
};
struct drawing {
	struct drawn x, y;
	struct difference *d; /* all differences, in ascending order */
	size_t nd, middle; /* middle: index of the first difference equal to the median */
};

NSX_ORDER(cmp_differences, struct difference, UP(ns));

static void sort_differences(struct drawing *w, struct nsx_arena *a)
{
	w->d = nsx_arena_get(a, w->x.n * w->y.n * sizeof(*w->d));
	for (uint32_t i = 0; i < w->x.n; i++)
		for (uint32_t j = 0; j < w->y.n; j++)
			w->d[w->nd++] = (struct difference){
				nsx_sub_sat(w->x.v[i], w->y.v[j]), i, j};
	nsx_sort(w->d, w->nd, sizeof(*w->d), cmp_differences);
	for (w->middle = w->nd / 2; w->middle && w->d[w->middle - 1].ns == w->d[w->middle].ns;)
		w->middle--;
}

/* Number of drawn pairs whose difference is less than ns. */
static uint64_t count_below(const struct drawing *w, int64_t ns)
{
	uint64_t n = 0, left = w->y.total;
	size_t j = 0;

	for (size_t i = 0; i < w->x.n; i++) {
		while (j < w->y.n && nsx_sub_sat(w->x.v[i], w->y.v[j]) >= ns)
			left -= w->y.times[j++];
		n += left * w->x.times[i];
	}
	return n;
}

static uint64_t times_of(const struct drawing *w, size_t at)
{
	return (uint64_t)w->x.times[w->d[at].i] * w->y.times[w->d[at].j];
}

static double shift_of(const struct drawing *w)
{
	uint64_t pairs = (uint64_t)w->x.total * w->y.total;
	uint64_t below = count_below(w, w->d[w->middle].ns);
	size_t at = w->middle;
	double low;

	while (below > (pairs - 1) / 2)
		below -= times_of(w, --at);
	while (below + times_of(w, at) <= (pairs - 1) / 2)
		below += times_of(w, at++);
	low = (double)w->d[at].ns;
	while (below + times_of(w, at) <= pairs / 2)
		below += times_of(w, at++);
	return low + ((double)w->d[at].ns - low) / 2;
}

static double figure_of(const struct drawing *w, enum nsx_figure figure)
{
	return figure == NSX_FIGURE_SHIFT ? shift_of(w) :
	       figure == NSX_FIGURE_MEAN  ? mean_of(&w->x) - mean_of(&w->y) :
					    p95_of(&w->x) - p95_of(&w->y);
}

struct nsx_interval nsx_bootstrap(const struct nsx_sample s[2], enum nsx_figure figure,
				  double alpha, uint64_t seed)
{
	struct nsx_arena *scratch = nsx_arena_new();
	const double ends[] = {alpha / 2, 1 - alpha / 2};
	struct drawing w = {.nd = 0};
	int64_t drawn[NSX_DRAWS];
	double lo_hi[2];

	begin_drawing(&s[1], scratch, &w.x);
	begin_drawing(&s[0], scratch, &w.y);
	if (figure == NSX_FIGURE_SHIFT)
		sort_differences(&w, scratch);
	for (unsigned i = 0; i < NSX_DRAWS; i++) {
		draw_once(&w.x, &seed);
		draw_once(&w.y, &seed);
		drawn[i] = nsx_to_i64(figure_of(&w, figure));
	}
	nsx_arena_free(scratch);
	nsx_quantiles(drawn, NSX_DRAWS, ends, 2, lo_hi);
	return (struct nsx_interval){lo_hi[0], lo_hi[1]};
}

/* Dealing units out at random ---------------------------------------------------*/

/* Share of the difference that counts as "about as far". The test asks which side has the few slow
 * units, not how much the usual ones vary.
 */
#define ABOUT 0.9

/* Distance between the mean of the first k values and that of the others. */
static double apart(const int64_t *v, size_t k, size_t n)
{
	return fabs(nsx_mean(v, k) - nsx_mean(v + k, n - k));
}

/* Moves k of v[0 .. n), drawn at random, to its front (Fisher and Yates). */
static void deal_to_front(int64_t *v, size_t k, size_t n, uint64_t *state)
{
	for (size_t i = 0; i < k; i++) {
		size_t j = i + nsx_random(state) % (n - i);
		int64_t x = v[i];

		v[i] = v[j];
		v[j] = x;
	}
}

double nsx_mean_test(const struct nsx_sample s[2], uint64_t seed)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *scratch = nsx_arena_new();
	struct drawn x, y;
	size_t as_far = 0, n;
	int64_t *v;
	double seen;

	begin_drawing(&s[1], scratch, &x);
	begin_drawing(&s[0], scratch, &y);
	n = x.n + y.n;
	v = nsx_arena_get(scratch, n * sizeof(*v));
	memcpy(v, x.v, x.n * sizeof(*v));
	memcpy(v + x.n, y.v, y.n * sizeof(*v));
	seen = ABOUT * apart(v, x.n, n);
	for (unsigned i = 0; i < NSX_DRAWS; i++) {
		deal_to_front(v, x.n, n, &seed);
		as_far += apart(v, x.n, n) >= seen;
	}
	return (double)(as_far + 1) / (NSX_DRAWS + 1);
}
