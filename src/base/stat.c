/* stat.c - quantiles by selection. */
#include <float.h>
#include <math.h>
#include "base/arena.h"
#include "base/stat.h"

#define ORDER_OF_NUMBERS(name, type)                                          \
	int name(const void *a, const void *b)                                \
	{                                                                     \
		return NSX_CMP(*(const type *)a, *(const type *)b);           \
	}
ORDER_OF_NUMBERS(nsx_cmp_i64, int64_t)
ORDER_OF_NUMBERS(nsx_cmp_u32, uint32_t)
ORDER_OF_NUMBERS(nsx_cmp_u64, uint64_t)
ORDER_OF_NUMBERS(nsx_cmp_double, double)

int nsx_cmp_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void stat_swap(int64_t *a, int64_t *b)
{
	int64_t t = *a;

	*a = *b;
	*b = t;
}

/* Moves the k-th smallest of v[lo..hi] to v[k], smaller values before it and greater ones after
 * it. The partition has three parts because a trace has many equal durations. After bad pivots it
 * sorts instead, so it is never quadratic.
 */
static void select_kth(int64_t *v, size_t lo, size_t hi, size_t k)
{
	for (unsigned rounds = 0; lo < hi; rounds++) {
		size_t mid = lo + (hi - lo) / 2, lt = lo, gt = hi, i = lo;
		int64_t pivot;

		if (rounds > 64 || hi - lo < 16) {
			nsx_sort(v + lo, hi - lo + 1, sizeof(*v), nsx_cmp_i64);
			return;
		}
		if (v[mid] < v[lo])
			stat_swap(&v[mid], &v[lo]);
		if (v[hi] < v[lo])
			stat_swap(&v[hi], &v[lo]);
		if (v[hi] < v[mid])
			stat_swap(&v[hi], &v[mid]);
		pivot = v[mid];
		while (i <= gt) {
			if (v[i] < pivot)
				stat_swap(&v[i++], &v[lt++]);
			else if (v[i] > pivot)
				stat_swap(&v[i], &v[gt--]);
			else
				i++;
		}
		if (k < lt)
			hi = lt - 1;
		else if (k > gt)
			lo = gt + 1;
		else
			return;
	}
}

/* The smallest of v[at..n). */
static int64_t least_value(const int64_t *v, size_t at, size_t n)
{
	int64_t least = v[at];

	for (size_t i = at + 1; i < n; i++)
		least = NSX_MIN(least, v[i]);
	return least;
}

/* Computes nsx_quantiles for few values: selects each quantile in turn. */
static void select_few(int64_t *v, size_t n, const double *qs, size_t nqs, double *ret)
{
	size_t lo = 0;

	for (size_t j = 0; j < nqs; j++) {
		double pos = (double)(n - 1) * qs[j];
		size_t k = (size_t)pos;

		select_kth(v, lo, n - 1, k);
		ret[j] = (double)v[k];
		lo = k;
		if (pos > (double)k && k + 1 < n)
			ret[j] += (pos - (double)k) *
				  ((double)least_value(v, k + 1, n) - (double)v[k]);
	}
}

/* Many values -----------------------------------------------------------------
 *
 * Partitioning many values is slow, as the processor mispredicts every second comparison.
 * Values are counted in a histogram of their distance from the least, in steps of 1/32, and
 * only the step with the quantile is searched further.
 */
enum { FEW = 1024, FINE = 5, STEPS = (64 - FINE + 1) << FINE };

struct counts {
	int64_t least;
	/* Neighbouring values use different counters, because adding to a counter that was just
	 * written is slower.
	 */
	uint32_t n[2][STEPS];
};

static unsigned step_of_sample(const struct counts *c, int64_t x)
{
	uint64_t u = (uint64_t)x - (uint64_t)c->least;
	unsigned shift = 63 - FINE - (unsigned)__builtin_clzll(u | 1 << FINE);

	return (shift << FINE) + (unsigned)(u >> shift);
}

static void count_steps(struct counts *c, const int64_t *v, size_t n)
{
	*c = (struct counts){.least = least_value(v, 0, n)};
	for (size_t i = 0; i + 1 < n; i += 2) {
		c->n[0][step_of_sample(c, v[i])]++;
		c->n[1][step_of_sample(c, v[i + 1])]++;
	}
	c->n[0][step_of_sample(c, v[n - 1])] += n % 2;
}

/* Moves the values of the step that holds the k-th smallest to the front and returns their
 * number. *k becomes its rank among them.
 */
static size_t move_step_to_front(const struct counts *c, int64_t *v, size_t n, size_t *k)
{
	unsigned step = 0, shift;
	size_t taken = 0, in;
	uint64_t from;

	while (*k >= (in = (size_t)c->n[0][step] + c->n[1][step])) {
		*k -= in;
		step++;
	}
	shift = step >> FINE ? (step >> FINE) - 1 : 0;
	from = (uint64_t)c->least + ((uint64_t)(step - (shift << FINE)) << shift);
	for (size_t i = 0; i < n; i++)
		if (((uint64_t)v[i] - from) >> shift == 0)
			stat_swap(&v[i], &v[taken++]);
	return taken;
}

/* Selects the k-th smallest of v[0..*n) and returns its index. *n shrinks to the values of that
 * step, which are moved to the front; smaller ones among these stand before the k-th.
 */
static size_t select_many(struct counts *c, int64_t *v, size_t *n, size_t k)
{
	size_t all;

	do {
		all = *n;
		*n = move_step_to_front(c, v, all, &k);
		if (*n > FEW)
			count_steps(c, v, *n);
	} while (*n > FEW && *n < all);
	select_kth(v, 0, *n - 1, k);
	return k;
}

static double quantile_of_many(const struct counts *all, int64_t *v, size_t n, double q)
{
	double pos = (double)(n - 1) * q;
	struct counts c = *all;
	size_t few = n, k = select_many(&c, v, &few, (size_t)pos);
	int64_t x = v[k], next = INT64_MAX;

	if (pos <= (double)(size_t)pos || (size_t)pos + 1 >= n)
		return (double)x;
	if (k + 1 < few)
		next = least_value(v, k + 1, few);
	for (size_t i = few; k + 1 == few && i < n; i++)
		next = NSX_MIN(next, v[i] > x ? v[i] : INT64_MAX);
	return (double)x + (pos - (double)(size_t)pos) * ((double)next - (double)x);
}

void nsx_quantiles(int64_t *v, size_t n, const double *qs, size_t nqs, double *ret)
{
	struct counts c;

	if (n <= FEW || n > UINT32_MAX) {
		select_few(v, n, qs, nqs, ret);
		return;
	}
	count_steps(&c, v, n);
	for (size_t j = 0; j < nqs; j++)
		ret[j] = quantile_of_many(&c, v, n, qs[j]);
}

double nsx_quantile(int64_t *v, size_t n, double q)
{
	double ret;

	nsx_quantiles(v, n, &q, 1, &ret);
	return ret;
}

double nsx_median_distance(int64_t *v, size_t n, double *ret_median)
{
	*ret_median = nsx_quantile(v, n, 0.5);
	for (size_t i = 0; i < n; i++)
		v[i] = llabs(v[i] - nsx_to_i64(*ret_median));
	return nsx_quantile(v, n, 0.5);
}

double nsx_mean(const int64_t *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)v[i];
	return sum / (double)n;
}

double nsx_stddev(const int64_t *v, size_t n)
{
	double mean = 0, m2 = 0;

	if (n < 2)
		return NAN;
	for (size_t i = 0; i < n; i++) {
		double d = (double)v[i] - mean;

		mean += d / (double)(i + 1);
		m2 += d * ((double)v[i] - mean);
	}
	return sqrt(m2 / (double)(n - 1));
}

/* The logarithm of n!, without the global variable that lgamma() writes. */
static double log_factorial(double n)
{
	int sign;

	return lgamma_r(n + 1, &sign);
}

/* Adds up terms of the binomial distribution, from logarithms, because factorials overflow. */
double nsx_binomial_tail(size_t n, size_t k, double q)
{
	double sum = 0, terms = (double)n, x;

	for (size_t i = k; i <= n; i++) {
		x = (double)i;
		sum += exp(log_factorial(terms) - log_factorial(x) - log_factorial(terms - x) +
			   x * log(q) + (terms - x) * log1p(-q));
	}
	return NSX_MAX(DBL_MIN, NSX_MIN(sum, 1.0));
}

enum { MOST_SLOPED = 512 }; /* longer samples are thinned out */

double nsx_slope(const int64_t *v, size_t n, struct nsx_err *err)
{
	const double fine = 0x1p20; /* keeps fractions */
	size_t step = (n + MOST_SLOPED - 1) / MOST_SLOPED, kept, m = 0;
	int64_t *slopes;
	double median;

	if (n < 2)
		return 0;
	kept = (n + step - 1) / step;
	slopes = nsx_try_alloc(kept * (kept - 1) / 2, sizeof(*slopes), "slopes", err);
	if (!slopes)
		return NAN;
	for (size_t j = step; j < n; j += step)
		for (size_t i = 0; i < j; i += step)
			slopes[m++] = nsx_to_i64(fine * (double)nsx_sub_sat(v[j], v[i]) /
						  (double)(j - i));
	median = nsx_quantile(slopes, m, 0.5);
	free(slopes);
	return median / fine;
}

uint64_t nsx_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}
