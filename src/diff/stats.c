/* stats.c - order statistics of two samples.
 *
 * The differences a[i] - b[j] of two ascending samples form rows that descend:
 * how many of them are at most x is one walk along the edge, so the k-th of
 * them is found by halving the range of x.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/stat.h"
#include "diff/stats.h"

/* Shift -----------------------------------------------------------------------*/

static uint64_t count_at_most(const int64_t *a, size_t na, const int64_t *b,
			      size_t nb, int64_t x)
{
	uint64_t n = 0;
	size_t j = 0;

	for (size_t i = 0; i < na; i++) {
		while (j < nb && nsx_sub_sat(a[i], b[j]) > x)
			j++;
		n += nb - j;
	}
	return n;
}

int64_t nsx_kth_difference(const int64_t *a, size_t na, const int64_t *b,
			   size_t nb, uint64_t k)
{
	int64_t lo = nsx_sub_sat(a[0], b[nb - 1]);
	int64_t hi = nsx_sub_sat(a[na - 1], b[0]);

	while (lo < hi) {
		int64_t mid = lo + (int64_t)(((uint64_t)hi - (uint64_t)lo) / 2);

		if (count_at_most(a, na, b, nb, mid) > k)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

double nsx_shift_of(const int64_t *a, size_t na, const int64_t *b, size_t nb)
{
	uint64_t pairs = (uint64_t)na * nb;
	double low, high;

	low = (double)nsx_kth_difference(a, na, b, nb, (pairs - 1) / 2);
	if (pairs % 2)
		return low;
	high = (double)nsx_kth_difference(a, na, b, nb, pairs / 2);
	return low + (high - low) / 2;
}

/* Rank test -------------------------------------------------------------------*/

/* [k][s]: of how many ways to choose k <= m of n numbers the sum is s.  Numbers
 * are doubled ranks, at most 2 n; the sum fits SUMS because m (n - m) is at most
 * NSX_EXACT_PAIRS and m the smaller part.  Owner: the caller, free().
 */
enum { SUMS = 2048 };

static double (*count_ways(const unsigned *rank, size_t n, size_t m))[SUMS]
{
	double(*ways)[SUMS] = calloc(m + 1, sizeof(*ways));
	size_t reach = 0;

	if (!ways)
		nsx_die_of_memory((m + 1) * sizeof(*ways));
	ways[0][0] = 1;
	for (size_t i = 0; i < n; i++) {
		reach = NSX_MIN(reach + rank[i], (size_t)SUMS - 1);
		for (size_t k = NSX_MIN(i + 1, m); k-- > 0;)
			for (size_t s = rank[i]; s <= reach; s++)
				ways[k + 1][s] += ways[k][s - rank[i]];
	}
	return ways;
}

/* Doubled ranks of both samples together, ties sharing theirs.  ret_sum: of a;
 * ret_ties: sum of t^3 - t.  rank may be NULL.
 */
static void rank_both(const int64_t *a, size_t na, const int64_t *b, size_t nb,
		      unsigned *rank, double *ret_sum, double *ret_ties)
{
	size_t i = 0, j = 0;

	*ret_sum = *ret_ties = 0;
	while (i < na || j < nb) {
		int64_t x = j == nb || (i < na && a[i] <= b[j]) ? a[i] : b[j];
		size_t from = i + j, first = i, ties;

		while (i < na && a[i] == x)
			i++;
		while (j < nb && b[j] == x)
			j++;
		ties = i + j - from;
		for (size_t k = from; rank && k < i + j; k++)
			rank[k] = (unsigned)(2 * from + ties + 1);
		*ret_sum += (double)(i - first) * (double)(2 * from + ties + 1);
		*ret_ties += (double)ties * ((double)ties * (double)ties - 1);
	}
}

/* Share of the arrangements whose sum is at least as far from the middle. */
static double exact_p(const unsigned *rank, size_t n, size_t m, double sum)
{
	double middle = (double)m * (double)(n + 1); /* doubled */
	double(*ways)[SUMS] = count_ways(rank, n, m), all = 0, far = 0;

	for (size_t s = 0; s < SUMS; s++) {
		all += ways[m][s];
		if (fabs((double)s - middle) >= fabs(sum - middle))
			far += ways[m][s];
	}
	free(ways);
	return far / all;
}

static double normal_p(double u, double na, double nb, double ties)
{
	double n = na + nb, off = fabs(u - na * nb / 2) - 0.5;
	double var = na * nb / 12 * (n + 1 - ties / (n * (n - 1)));

	return var > 0 ? fmin(1, erfc(fmax(off, 0) / sqrt(2 * var))) : 1;
}

struct nsx_rank_test nsx_rank_test(const int64_t *a, size_t na,
				   const int64_t *b, size_t nb)
{
	struct nsx_rank_test ret;
	unsigned rank[NSX_EXACT_PAIRS + 1];
	double sum, ties;

	/* Of few pairs the samples are short: 1 and 400 are the longest. */
	ret.exact = (uint64_t)na * nb <= NSX_EXACT_PAIRS;
	rank_both(a, na, b, nb, ret.exact ? rank : NULL, &sum, &ties);
	ret.u = (sum - (double)na * (double)(na + 1)) / 2;
	ret.a12 = ret.u / ((double)na * (double)nb);
	if (!ret.exact) {
		ret.p = normal_p(ret.u, (double)na, (double)nb, ties);
	} else if (na <= nb) {
		ret.p = exact_p(rank, na + nb, na, sum);
	} else {
		double all = (double)(na + nb) * (double)(na + nb + 1);

		ret.p = exact_p(rank, na + nb, nb, all - sum);
	}
	return ret;
}

/* Intervals -------------------------------------------------------------------*/

/* Where the standard normal distribution leaves q above. */
static double normal_above(double q)
{
	double lo = 0, hi = 40;

	for (unsigned i = 0; i < 80; i++) {
		double mid = (lo + hi) / 2;

		if (erfc(mid / sqrt(2)) / 2 > q)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* How many differences lie below the interval: the least u whose probability
 * P(U <= u) reaches alpha / 2, without ties.
 */
static uint64_t below(size_t na, size_t nb, double alpha)
{
	uint64_t pairs = (uint64_t)na * nb, k = 0;
	size_t m = NSX_MIN(na, nb), n = na + nb;
	double(*ways)[SUMS], all = 0, sum = 0, u;
	unsigned rank[NSX_EXACT_PAIRS + 1];

	if (pairs > NSX_EXACT_PAIRS) {
		u = (double)pairs / 2 -
		    normal_above(alpha / 2) *
			    sqrt((double)pairs * (double)(n + 1) / 12);
		return u > 1 ? (uint64_t)u : 1;
	}
	for (size_t i = 0; i < n; i++)
		rank[i] = (unsigned)(2 * (i + 1));
	ways = count_ways(rank, n, m);
	for (size_t s = 0; s < SUMS; s++)
		all += ways[m][s];
	do
		sum += ways[m][m * (m + 1) + 2 * k++];
	while (sum / all < alpha / 2);
	free(ways);
	return NSX_MAX(k - 1, 1);
}

struct nsx_interval nsx_shift_interval(const int64_t *a, size_t na,
				       const int64_t *b, size_t nb,
				       double alpha)
{
	uint64_t pairs = (uint64_t)na * nb, k = below(na, nb, alpha);

	return (struct nsx_interval){
		(double)nsx_kth_difference(a, na, b, nb, k - 1),
		(double)nsx_kth_difference(a, na, b, nb, pairs - k)};
}

/* Bootstrap -------------------------------------------------------------------*/

size_t nsx_block_length(const int64_t *v, size_t n)
{
	double mean = 0, square = 0;

	for (size_t i = 0; i < n; i++)
		mean += (double)v[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		square += ((double)v[i] - mean) * ((double)v[i] - mean);
	for (size_t lag = 1; lag < n / 2; lag++) {
		double sum = 0;

		for (size_t i = 0; i + lag < n; i++)
			sum += ((double)v[i] - mean) *
			       ((double)v[i + lag] - mean);
		if (!(sum >= 0.2 * square))
			return lag;
	}
	return NSX_MAX(n / 2, 1);
}

static uint64_t next_random(uint64_t *state) /* splitmix64 */
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* A sample thinned so that thousands of draws stay cheap, and a draw of it. */
enum { MOST_DRAWN = 200 };

struct drawn {
	int64_t *v, *draw; /* n of each                                      */
	size_t *end, *block; /* by capture                                   */
	size_t n, ncaptures;
};

static int begin_drawing(const struct nsx_sample *s, struct nsx_arena *a,
			 struct drawn *ret, struct nsx_err *err)
{
	size_t k = s->ncaptures, most = NSX_MAX(MOST_DRAWN / k, 1), at = 0;

	ret->v = nsx_arena_try_array(a, NSX_MIN(s->n, most * k),
				     2 * sizeof(*ret->v), "units", err);
	ret->end = nsx_arena_try_array(a, k, 2 * sizeof(*ret->end), "captures",
				       err);
	if (!ret->v || !ret->end)
		return err->rc;
	ret->block = ret->end + k;
	ret->ncaptures = k;
	ret->n = 0;
	for (size_t c = 0; c < k; at = s->end[c++]) {
		size_t n = s->end[c] - at, kept = NSX_MIN(n, most);

		for (size_t i = 0; i < kept; i++)
			ret->v[ret->n + i] = s->v[at + i * n / kept];
		ret->block[c] = nsx_block_length(ret->v + ret->n, kept);
		ret->n += kept;
		ret->end[c] = ret->n;
	}
	ret->draw = ret->v + ret->n;
	return 0;
}

/* Captures with replacement, of each as many units as it has. Returns how many
 * were drawn: at most n, for captures may differ in length.
 */
static size_t draw_once(struct drawn *d, uint64_t *state)
{
	size_t n = 0;

	for (size_t k = 0; k < d->ncaptures; k++) {
		size_t c = next_random(state) % d->ncaptures;
		size_t from = c ? d->end[c - 1] : 0, len = d->end[c] - from;
		size_t want = NSX_MIN(len, d->n - n);

		for (size_t i = 0, at = 0; i < want; i++) {
			if (i % d->block[c] == 0)
				at = next_random(state) % len;
			d->draw[n++] = d->v[from + at];
			at = at + 1 == len ? 0 : at + 1;
		}
	}
	qsort(d->draw, n, sizeof(*d->draw), nsx_cmp_i64);
	return n;
}

static double mean_of(const int64_t *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)v[i];
	return sum / (double)n;
}

double nsx_mean_change(const int64_t *a, size_t na, const int64_t *b,
		       size_t nb)
{
	return mean_of(a, na) - mean_of(b, nb);
}

static double p95_of(const int64_t *v, size_t n) /* ascending */
{
	double at = (double)(n - 1) * 0.95;
	size_t k = (size_t)at;

	return k + 1 < n ? (double)v[k] + (at - (double)k) *
					  (double)(v[k + 1] - v[k]) :
			   (double)v[k];
}

double nsx_p95_change(const int64_t *a, size_t na, const int64_t *b, size_t nb)
{
	return p95_of(a, na) - p95_of(b, nb);
}

int nsx_bootstrap(const struct nsx_sample *a, const struct nsx_sample *b,
		  nsx_figure_fn figure, double alpha, uint64_t seed,
		  struct nsx_interval *ret, struct nsx_err *err)
{
	struct nsx_arena *scratch = nsx_arena_new();
	const double ends[] = {alpha / 2, 1 - alpha / 2};
	int64_t drawn[NSX_DRAWS];
	struct drawn x, y;
	double lo_hi[2];
	int rc = begin_drawing(a, scratch, &x, err);

	if (!rc)
		rc = begin_drawing(b, scratch, &y, err);
	for (unsigned i = 0; !rc && i < NSX_DRAWS; i++) {
		size_t na = draw_once(&x, &seed), nb = draw_once(&y, &seed);

		drawn[i] = nsx_to_i64(figure(x.draw, na, y.draw, nb));
	}
	nsx_arena_free(scratch);
	if (rc)
		return rc;
	nsx_quantiles(drawn, NSX_DRAWS, ends, 2, lo_hi);
	*ret = (struct nsx_interval){lo_hi[0], lo_hi[1]};
	return 0;
}

/* Slope -----------------------------------------------------------------------*/

enum { MOST_SLOPED = 512 }; /* of longer samples every n-th unit */

static int cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double nsx_slope(const int64_t *v, size_t n, struct nsx_err *err)
{
	size_t step = (n + MOST_SLOPED - 1) / MOST_SLOPED, kept, m = 0;
	double *slopes, ret;

	if (n < 2)
		return 0;
	kept = (n + step - 1) / step;
	slopes = nsx_try_alloc(kept * (kept - 1) / 2, sizeof(*slopes), "slopes",
			       err);
	if (!slopes)
		return NAN;
	for (size_t j = step; j < n; j += step)
		for (size_t i = 0; i < j; i += step)
			slopes[m++] = (double)(v[j] - v[i]) / (double)(j - i);
	qsort(slopes, m, sizeof(*slopes), cmp_double);
	ret = (slopes[(m - 1) / 2] + slopes[m / 2]) / 2;
	free(slopes);
	return ret;
}
