/* stat.c - quantiles by selection. */
#include <float.h>
#include <math.h>
#include <string.h>
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

static void swap(int64_t *a, int64_t *b)
{
	int64_t t = *a;

	*a = *b;
	*b = t;
}

/* Puts the k-th smallest of v[lo..hi] in place, less before it, greater after
 * it. Three-way partition: many equal durations are the rule in a trace. Falls
 * back to sorting when the pivots are bad, so it is never quadratic.
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
			swap(&v[mid], &v[lo]);
		if (v[hi] < v[lo])
			swap(&v[hi], &v[lo]);
		if (v[hi] < v[mid])
			swap(&v[hi], &v[mid]);
		pivot = v[mid];
		while (i <= gt) {
			if (v[i] < pivot)
				swap(&v[i++], &v[lt++]);
			else if (v[i] > pivot)
				swap(&v[i], &v[gt--]);
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

void nsx_quantiles(int64_t *v, size_t n, const double *qs, size_t nqs,
		   double *ret)
{
	size_t lo = 0;

	for (size_t j = 0; j < nqs; j++) {
		double pos = (double)(n - 1) * qs[j];
		size_t k = (size_t)pos;
		int64_t next;

		select_kth(v, lo, n - 1, k);
		ret[j] = (double)v[k];
		lo = k;
		if (pos <= (double)k || k + 1 >= n)
			continue;
		next = v[k + 1];
		for (size_t i = k + 2; i < n; i++)
			next = NSX_MIN(next, v[i]);
		ret[j] += (pos - (double)k) * ((double)next - (double)v[k]);
	}
}

double nsx_quantile(int64_t *v, size_t n, double q)
{
	double ret;

	nsx_quantiles(v, n, &q, 1, &ret);
	return ret;
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

/* By logarithms of the terms. */
double nsx_binomial_tail(size_t n, size_t k, double q)
{
	double sum = 0, terms = (double)n, x;

	for (size_t i = k; i <= n; i++) {
		x = (double)i;
		sum += exp(lgamma(terms + 1) - lgamma(x + 1) -
			   lgamma(terms - x + 1) + x * log(q) +
			   (terms - x) * log1p(-q));
	}
	return NSX_MAX(DBL_MIN, NSX_MIN(sum, 1.0));
}
