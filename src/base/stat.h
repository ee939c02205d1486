/* stat.h - sums and exact quantiles of int64 samples. Pure functions. */
#pragma once

#include "base/base.h"

struct nsx_err;

/* A quantile as defined in queries/README.md 2: linear interpolation at position (n - 1) * q.
 * Reorders v (selection, not a full sort). n must be > 0. O(n).
 */
double nsx_quantile(int64_t *v, size_t n, double q);
/* Computes several quantiles at once, faster than one by one; qs ascend. */
void nsx_quantiles(int64_t *v, size_t n, const double *qs, size_t nqs, double *ret);

/* The median absolute deviation, and the median in *ret_median. Overwrites v with the deviations.
 */
double nsx_median_distance(int64_t *v, size_t n, double *ret_median);

double nsx_mean(const int64_t *v, size_t n); /* n must be > 0 */
/* The sample standard deviation (n - 1), as nsys stats prints it; NAN if n < 2. */
double nsx_stddev(const int64_t *v, size_t n);

/* The median of the slopes between all pairs of samples, per index (Theil 1950, Sen 1968); 0 for
 * fewer than two samples. Errors: NAN, NSX_E_NOMEM.
 */
double nsx_slope(const int64_t *v, size_t n, struct nsx_err *err);

/* Returns P(X >= k) for n trials with probability q; never 0. */
double nsx_binomial_tail(size_t n, size_t k, double q);

/* The next number of a repeatable sequence: splitmix64 (Steele, Lea, Flood 2014). */
uint64_t nsx_random(uint64_t *state);

/* Comparison functions for nsx_sort(). */
int nsx_cmp_i64(const void *a, const void *b);
int nsx_cmp_u32(const void *a, const void *b);
int nsx_cmp_u64(const void *a, const void *b);
int nsx_cmp_double(const void *a, const void *b);
int nsx_cmp_text(const void *a, const void *b); /* compares elements of an array of char pointers */

/* Adds two numbers; a sum that overflows becomes the nearest int64_t. */
static inline int64_t nsx_add_sat(int64_t a, int64_t b)
{
	int64_t r;

	return __builtin_add_overflow(a, b, &r) ? (a < 0 ? INT64_MIN : INT64_MAX) : r;
}

static inline int64_t nsx_sub_sat(int64_t a, int64_t b)
{
	int64_t r;

	return __builtin_sub_overflow(a, b, &r) ? (a < 0 ? INT64_MIN : INT64_MAX) : r;
}

static inline void nsx_add_to(int64_t *sum, int64_t x)
{
	*sum = nsx_add_sat(*sum, x);
}

/* Truncates a double and clamps it to int64; 0 for NaN. */
static inline int64_t nsx_to_i64(double x)
{
	return x >= 0x1p63 ? INT64_MAX : x >= -0x1p63 ? (int64_t)x : x < 0 ? INT64_MIN : 0;
}
