/* stats.h - whether two samples of times differ, by how much, and how surely.
 *
 * Samples are lengths of units of work in nanoseconds. Only order statistics are used: one
 * slow unit in forty moves nothing but the ends of an interval. Integers stay integers, and
 * no function needs all pairs of two samples in memory. All functions are pure.
 *
 * Sources: Hodges and Lehmann 1963 (shift), Mann and Whitney 1947 (test), Vargha and
 * Delaney 2000 (effect size).
 */
#pragma once

#include "base/arena.h"

struct nsx_sample { /* in order of time, one capture after another */
	const int64_t *v;
	size_t n;
	const size_t *end; /* by capture: its end in v */
	size_t ncaptures;
};

struct nsx_interval {
	double lo, hi;
};

/* The k-th smallest (from 0) of all a[i] - b[j]; a and b ascending. Takes O((na + nb) log range).
 */
int64_t nsx_kth_difference(const int64_t *a, size_t na, const int64_t *b, size_t nb, uint64_t k);
/* Hodges-Lehmann shift: the median of all a[i] - b[j]; a and b ascending. */
double nsx_shift_of(const int64_t *a, size_t na, const int64_t *b, size_t nb);

struct nsx_rank_test {
	double u;   /* pairs in which a is greater, ties half */
	double a12; /* u / number of pairs; 0.5: no effect */
	double p;   /* two-sided */
	bool exact; /* p counts all arrangements, with ties */
};
/* Rank test; a and b ascending, not empty. Exact up to NSX_EXACT_PAIRS pairs, beyond that
 * by the normal distribution, corrected for ties and continuity.
 */
enum { NSX_EXACT_PAIRS = 400 };
struct nsx_rank_test nsx_rank_test(const int64_t *a, size_t na, const int64_t *b, size_t nb);

/* Interval of the shift that matches the rank test at this alpha: the k-th least and k-th
 * greatest difference (as R's wilcox.test).
 */
struct nsx_interval nsx_shift_interval(const int64_t *a, size_t na, const int64_t *b, size_t nb,
				       double alpha);

/* Figure of two samples, before and after, to bootstrap: the shift, or the change of the mean or
 * of the 95th percentile.
 */
enum nsx_figure { NSX_FIGURE_SHIFT, NSX_FIGURE_MEAN, NSX_FIGURE_P95 };

/* Bootstrap interval of a figure. It draws captures, and within each blocks of units as long as
 * neighbours resemble each other. The same seed gives the same interval.
 */
enum { NSX_DRAWS = 2000 };
struct nsx_interval nsx_bootstrap(const struct nsx_sample s[2], enum nsx_figure figure,
				  double alpha, uint64_t seed);

/* Permutation test of the means: how often they differ about as much when all units are assigned to
 * the sides at random. Two-sided, at least 1 / (NSX_DRAWS + 1). The same seed gives the same p.
 */
double nsx_mean_test(const struct nsx_sample s[2], uint64_t seed);

/* Student's t test: the two-sided probability that chance alone makes |t| as large; df > 0. */
double nsx_t_test(double t, unsigned df);

/* First lag at which the autocorrelation is below 0.2; at least 1. */
size_t nsx_block_length(const int64_t *v, size_t n);

/* Rounding fractions so that their sum is the rounded total ----------------------*/

__extension__ typedef __int128 nsx_wide;

/* v / den rounded to the nearest integer, halves away from zero; den > 0. */
int64_t nsx_round(nsx_wide v, nsx_wide den);

/* Rounds v[i] / den, den > 0, to integers that add up to total. Each is rounded down; then those
 * with the largest remainders get one more each, the first of equals first. If total is not the
 * rounded sum, the difference goes to the values of largest magnitude.
 */
void nsx_apportion(const nsx_wide *v, size_t n, nsx_wide den, int64_t total, int64_t *ret);
