/* match_place.c - the place at which the collectives of one rank are those of another.
 *
 * The members of one collective end at one instant. At the right place the ends of two ranks
 * therefore differ by the offset of their clocks, always the same. Elsewhere the jitter of the
 * steps is added. So among places where the operations agree, the one with the least spread of the
 * difference wins, after a slow drift of the clocks is subtracted.
 */
#include <math.h>
#include "fleet/match.h"

#define MOST_COMMON 0.9 /* least overlap of an alignment, relative to the overlap by the clocks */
#define SAME_PACE 1.5 /* greatest ratio of frequencies of collectives of one family */
#define MOST_DRIFT 1e-4 /* greatest drift between the crystals of two hosts */

enum {
	MOST_COUNTED = 4096, /* operations compared if the samples agree */
	FEW = 2,	     /* operations that may differ beyond the fewest */
	POINTS = 9,
	LEAST_COMMON = 4,    /* collectives that two ranks must share */
	LEAST_SURE = 32,     /* samples needed for a reliable spread of ends */
};

/* The operation of a channel's i-th collective. Equal operations have equal pointers: see name_ops
 * in match.c.
 */
static const char *op_at(const struct nsx_mchannel *x, int64_t i)
{
	return nsx_coll_op(x->c, (size_t)i)->name;
}

double nsx_outer_slope(const double *v, size_t n)
{
	double head[NSX_SAMPLES], tail[NSX_SAMPLES];
	size_t third = n / 3;

	memcpy(head, v, third * sizeof(*head));
	memcpy(tail, v + n - third, third * sizeof(*tail));
	return (nsx_median_of(tail, third) - nsx_median_of(head, third)) / (double)(n - third);
}

/* Width of the middle three quarters of the differences around a line through their outer thirds.
 * Its slope is at most most_slope: more is no drift of a clock.
 */
static double match_place_spread_of(double *diff, size_t n, double most_slope)
{
	double slope = n < 3 ? 0 : nsx_outer_slope(diff, n);

	if (n < 3)
		return 0;
	slope = NSX_MAX(-most_slope, NSX_MIN(most_slope, slope));
	for (size_t i = 0; i < n; i++)
		diff[i] -= slope * (double)i;
	nsx_median_of(diff, n); /* the call sorts diff */
	return diff[n - 1 - n / 8] - diff[n / 8];
}

/* The part where x and y overlap if x's i-th collective is y's (i - shift)-th, and the
 * number n of samples in it.
 */
struct overlap {
	int64_t from;
	size_t ncommon, n;
};
static struct overlap overlap_of(const struct nsx_mchannel *x,
				 const struct nsx_mchannel *y, int64_t shift)
{
	int64_t from = NSX_MAX(0, shift);
	int64_t to = NSX_MIN((int64_t)x->c->n, (int64_t)y->c->n + shift);
	struct overlap o = {from, 0, 0};

	if (to - from >= LEAST_COMMON || to - from >= (int64_t)NSX_MIN(x->c->n, y->c->n))
		o.ncommon = (size_t)NSX_MAX(0, to - from);
	o.n = NSX_MIN(o.ncommon, NSX_SAMPLES);
	return o;
}

static int64_t sample_at(const struct overlap *o, size_t s)
{
	return o->from + (int64_t)(o->ncommon * s / o->n);
}

static struct nsx_fit try_place(const struct nsx_mchannel *x, const struct nsx_mchannel *y,
			    int64_t shift)
{
	struct overlap o = overlap_of(x, y, shift);
	size_t differs = 0;

	for (size_t s = 0; s < o.n; s++) {
		int64_t i = sample_at(&o, s);

		differs += op_at(x, i) != op_at(y, i - shift);
	}
	return (struct nsx_fit){.differs = o.n ? (double)differs / (double)o.n : 1,
				.ncommon = o.ncommon};
}

/* Fills diff with how much later x's ends are than y's. Returns how many. *ret_ns: the time
 * from the first to the last.
 */
static size_t ends_at(const struct nsx_mchannel *x, const struct nsx_mchannel *y,
		      int64_t shift, double *diff, int64_t *ret_ns)
{
	struct overlap o = overlap_of(x, y, shift);
	size_t n = 0;

	for (size_t s = 0; s < o.n && x->c->has_times && y->c->has_times; s++) {
		int64_t i = sample_at(&o, s);

		if (op_at(x, i) == op_at(y, i - shift))
			diff[n++] = (double)(nsx_coll_end(x->c, (size_t)i) -
				nsx_coll_end(y->c, (size_t)(i - shift)));
	}
	*ret_ns = !n ? 0 : nsx_coll_end(x->c, (size_t)sample_at(&o, o.n - 1)) -
			   nsx_coll_end(x->c, (size_t)o.from);
	return n;
}

double nsx_spread_at(const struct nsx_mchannel *x, const struct nsx_mchannel *y, int64_t shift)
{
	double diff[NSX_SAMPLES];
	int64_t ns;
	size_t n = ends_at(x, y, shift, diff, &ns);

	return match_place_spread_of(diff, n, MOST_DRIFT * (double)ns / NSX_MAX(1, (double)n));
}

/* One of several points of n collectives at which clocks are compared: a rank may be late at some. */
static size_t point_of(size_t n, size_t point)
{
	return n * (2 * point + 1) / (2 * POINTS);
}

/* Index of y's collective that ends nearest to x's i-th by the hosts' clocks. */
static int64_t nearest(const struct nsx_mchannel *x, size_t i, const struct nsx_mchannel *y)
{
	int64_t at = nsx_coll_end(x->c, i) + (x->utc_ns - y->utc_ns);
	size_t lo = 0, hi = y->c->n;

	NSX_BISECT(lo, hi, mid, nsx_coll_end(y->c, mid) < at);
	if (lo && (lo == y->c->n || at - nsx_coll_end(y->c, lo - 1) < nsx_coll_end(y->c, lo) - at))
		lo--;
	return (int64_t)lo;
}

/* The shifts to try: around the clocks' if known, else around the beginning. Returns
 * whether the clocks are known.
 */
static bool match_place_range_of(const struct nsx_mchannel *x, const struct nsx_mchannel *y,
				 int64_t bound_ns, int64_t *ret_from, int64_t *ret_to)
{
	bool has_clock = x->utc_ns >= 0 && y->utc_ns >= 0 && x->c->has_times && y->c->has_times;
	int64_t middle = 0, width = NSX_MOST_PLACES / 2;

	if (has_clock) {
		size_t i = x->c->n / 2;
		size_t lo = i, hi = i;
		int64_t at = nsx_coll_end(x->c, i);
		double by[POINTS];

		for (size_t p = 0; p < POINTS; p++) {
			size_t k = point_of(x->c->n, p);

			by[p] = (double)((int64_t)k - nearest(x, k, y));
		}
		middle = (int64_t)nsx_median_of(by, POINTS);
		while (lo && at - nsx_coll_end(x->c, lo - 1) <= bound_ns)
			lo--;
		while (hi + 1 < x->c->n && nsx_coll_end(x->c, hi + 1) - at <= bound_ns)
			hi++;
		width = NSX_MIN(width, (int64_t)(hi - lo) / 2 + 1);
	}
	*ret_from = middle - width;
	*ret_to = middle + width;
	return has_clock;
}

/* Counts differing operations over more of them; stops beyond `most`. */
static size_t count_differing(const struct nsx_mchannel *x, const struct nsx_mchannel *y,
			      int64_t shift, size_t most)
{
	struct overlap o = overlap_of(x, y, shift);
	int64_t to = o.from + (int64_t)NSX_MIN(o.ncommon, MOST_COUNTED);
	size_t n = 0;

	for (int64_t i = o.from; i < to && n <= most; i++)
		n += op_at(x, i) != op_at(y, i - shift);
	return n;
}

/* Distance of a place from where the hosts' clocks put y; without clocks, from the middle,
 * in collectives.
 */
static double distance(const struct nsx_mchannel *x, const struct nsx_mchannel *y,
		       int64_t shift, bool has_clock, int64_t middle)
{
	struct overlap o = overlap_of(x, y, shift);
	double v[POINTS];

	for (size_t p = 0; p < POINTS && has_clock; p++) {
		size_t i = (size_t)o.from + point_of(o.ncommon, p);

		v[p] = fabs((double)(nsx_coll_end(x->c, i) - nsx_coll_end(y->c, i - (size_t)shift) +
				     x->utc_ns - y->utc_ns));
	}
	return has_clock ? nsx_median_of(v, POINTS) : fabs((double)(shift - middle));
}

/* How many times smaller the spread at a place must be for it to be preferred to the place that the
 * clocks give. The spread of few samples is unreliable, and captures of one job overlap most.
 */
static double doubt_of(const struct nsx_mchannel *x, const struct nsx_mchannel *y, int64_t shift)
{
	struct overlap o = overlap_of(x, y, shift);
	struct overlap by_clock = overlap_of(x, y, y->shift);
	bool has_fewer = (double)o.ncommon < MOST_COMMON * (double)by_clock.ncommon;

	return 2 * (o.n < LEAST_SURE ? 2 : 1) * (has_fewer ? 2 : 1);
}

/* Aligns y with x at one of these shifts: sets y's shift and spread. Returns false if none matches.
 * First samples choose places, then all operations do. A few may differ, because a rank may be out
 * of sequence. Of the places left, the nearest by the clocks wins at which ends do not agree much
 * worse than elsewhere, as those of one collective agree.
 */
static bool lay_within(const struct nsx_mchannel *x, struct nsx_mchannel *y, int64_t from,
		       int64_t to, bool has_clock, double most_ns, struct nsx_fit *fits)
{
	double least = 1, nearest_by = INFINITY, closest;
	struct nsx_mchannel by_clock;
	size_t fewest = MOST_COUNTED;
	struct nsx_fit *f = fits;

	for (int64_t i = from; i <= to; i++, f++) {
		*f = try_place(x, y, i);
		least = f->ncommon ? NSX_MIN(least, f->differs) : least;
	}
	if (least > 0.5)
		return false;
	y->differs = least;
	f = fits;
	for (int64_t i = from; i <= to; i++, f++) {
		if (!f->ncommon || f->differs > least + 2.0 / NSX_SAMPLES) {
			f->ncommon = 0;
			continue;
		}
		f->ndiffers = count_differing(x, y, i, fewest + FEW);
		fewest = NSX_MIN(fewest, f->ndiffers);
	}
	f = fits;
	for (int64_t i = from; i <= to; i++, f++) {
		f->spread = INFINITY;
		f->far = !f->ncommon || f->ndiffers > fewest + FEW ? INFINITY :
			 distance(x, y, i, has_clock, (from + to) / 2);
		if (isinf(f->far) || f->far > most_ns)
			continue;
		f->spread = nsx_spread_at(x, y, i);
		if (f->far < nearest_by) {
			nearest_by = f->far;
			y->shift = i;
			y->spread = f->spread;
		}
	}
	least = y->spread;
	by_clock = *y;
	f = fits;
	for (int64_t i = from; i <= to; i++, f++) {
		double spread = f->spread * doubt_of(x, &by_clock, i);

		if (spread < least && (!has_clock || f->spread <= NSX_TOGETHER_NS)) {
			least = spread;
			y->shift = i;
			y->spread = f->spread;
		}
	}
	closest = INFINITY;
	f = fits;
	for (int64_t i = from; i <= to && has_clock; i++, f++)
		if (f->spread <= least && f->far < closest) {
			closest = f->far;
			y->shift = i;
			y->spread = f->spread;
		}
	return !isinf(nearest_by);
}

bool nsx_fits_better(const struct nsx_mchannel *x, const struct nsx_mchannel *a,
			const struct nsx_mchannel *b)
{
	bool is_same = x->c->comm && a->c->comm == x->c->comm;
	bool of_stream = a->c->stream == x->c->stream;

	if (x->c->comm && is_same != (b->c->comm == x->c->comm))
		return is_same;
	if (fabs(a->differs - b->differs) > 2.0 / NSX_SAMPLES)
		return a->differs < b->differs;
	if (of_stream != (b->c->stream == x->c->stream))
		return of_stream;
	return a->spread < b->spread;
}

/* Mean time between ends in the middle half, as captures begin and end anywhere and a job
 * may hang. 0: not known.
 */
static double pace_of(const struct nsx_dchannel *c)
{
	size_t from = c->n / 4, to = c->n - 1 - c->n / 4;

	return !c->has_times || c->n < 8 ? 0 :
		       (double)(nsx_coll_end(c, to) - nsx_coll_end(c, from)) / (double)(to - from);
}

bool nsx_lay(const struct nsx_mchannel *x, struct nsx_mchannel *y, int64_t bound_ns,
		struct nsx_fit *fits)
{
	struct nsx_mchannel far = *y;
	int64_t from, to, half = (int64_t)NSX_MIN(x->c->n, y->c->n) / 2;
	double xs = pace_of(x->c), ys = pace_of(y->c);
	/* on one host a late end may be a call that was slow to return */
	double most_ns = bound_ns < NSX_CLOCK_BOUND_NS ? INFINITY : (double)bound_ns;
	bool has_clock, fits_near;

	if (xs > 0 && ys > 0 && (xs > SAME_PACE * ys || ys > SAME_PACE * xs))
		return false;
	has_clock = match_place_range_of(x, y, bound_ns, &from, &to);
	fits_near = lay_within(x, y, from, to, has_clock, most_ns, fits);
	if (!has_clock || bound_ns < NSX_CLOCK_BOUND_NS ||
	    (fits_near && y->spread <= NSX_END_NOISE_NS) ||
	    !lay_within(x, &far, NSX_MAX(half - (int64_t)y->c->n, -NSX_MOST_PLACES / 2),
			NSX_MIN((int64_t)x->c->n - half, NSX_MOST_PLACES / 2), false,
			most_ns, fits) ||
	    far.spread > NSX_TOGETHER_NS ||
	    (fits_near && (far.spread > y->spread / 4 || nsx_fits_better(x, y, &far))))
		return fits_near;
	*y = far;
	return true;
}
