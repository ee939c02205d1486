/* stat.h - sums and exact quantiles of int64 samples. Pure functions. */
#ifndef NSX_STAT_H
#define NSX_STAT_H

#include "base/base.h"

struct nsx_err;

/* One definition of a quantile everywhere (queries/README.md 2): linear
 * interpolation at position (n - 1) * q.  v is reordered (selection, not a full sort);
 * n must be > 0.  O(n).
 */
double nsx_quantile(int64_t *v, size_t n, double q);
/* Several at once, qs ascending: cheaper than one by one. */
void nsx_quantiles(int64_t *v, size_t n, const double *qs, size_t nqs,
		   double *ret);

/* Median distance from the median, which is returned as well; v becomes distances. */
double nsx_median_distance(int64_t *v, size_t n, double *ret_median);

double nsx_mean(const int64_t *v, size_t n); /* n must be > 0 */
/* Sample standard deviation (n - 1), as nsys stats prints it; NAN if n < 2. */
double nsx_stddev(const int64_t *v, size_t n);

/* Median change from one to the next (Theil 1950, Sen 1968); 0 for fewer than two, NAN
 * on failure.  Errors: NSX_E_NOMEM.
 */
double nsx_slope(const int64_t *v, size_t n, struct nsx_err *err);

/* P(X >= k) for n trials of chance q; never 0. */
double nsx_binomial_tail(size_t n, size_t k, double q);

/* For nsx_sort(); _text: of char pointers. */
int nsx_cmp_i64(const void *a, const void *b);
int nsx_cmp_u32(const void *a, const void *b);
int nsx_cmp_u64(const void *a, const void *b);
int nsx_cmp_double(const void *a, const void *b);
int nsx_cmp_text(const void *a, const void *b); /* of char pointers */

/* Sums that stop at the edge instead of wrapping. */
static inline int64_t nsx_add_sat(int64_t a, int64_t b)
{
	int64_t r;

	return __builtin_add_overflow(a, b, &r) ?
		       (a < 0 ? INT64_MIN : INT64_MAX) : r;
}

static inline int64_t nsx_sub_sat(int64_t a, int64_t b)
{
	int64_t r;

	return __builtin_sub_overflow(a, b, &r) ?
		       (a < 0 ? INT64_MIN : INT64_MAX) : r;
}

static inline void nsx_add_to(int64_t *sum, int64_t x)
{
	*sum = nsx_add_sat(*sum, x);
}

/* A double without its fraction, cut at the edges of int64; 0 for NaN. */
static inline int64_t nsx_to_i64(double x)
{
	return x >= 0x1p63 ? INT64_MAX : x >= -0x1p63 ? (int64_t)x :
	       x < 0 ? INT64_MIN : 0;
}

#endif
