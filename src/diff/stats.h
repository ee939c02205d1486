/* stats.h - whether two samples of times differ, by how much, how surely.
 *
 * Samples are lengths of units of work in nanoseconds.  Order statistics only:
 * one slow unit in forty moves no figure here but the ends of an interval.
 * Integers stay integers; nothing needs the pairs of two samples in memory.
 * Pure functions.
 *
 * Sources: Hodges and Lehmann 1963 (shift), Mann and Whitney 1947 (test),
 * Vargha and Delaney 2000 (effect size).
 */
#ifndef NSX_DIFF_STATS_H
#define NSX_DIFF_STATS_H

#include "base/arena.h"

struct nsx_sample { /* in order of time, capture after capture               */
	const int64_t *v;
	size_t n;
	const size_t *end; /* by capture: where it ends in v                 */
	size_t ncaptures;
};

struct nsx_interval {
	double lo, hi;
};

/* The k-th smallest (from 0) of all a[i] - b[j]; a and b ascending.
 * O((na + nb) log range).
 */
int64_t nsx_kth_difference(const int64_t *a, size_t na, const int64_t *b,
			   size_t nb, uint64_t k);
/* Hodges-Lehmann shift: the median of all a[i] - b[j]; a and b ascending. */
double nsx_shift_of(const int64_t *a, size_t na, const int64_t *b, size_t nb);

struct nsx_rank_test {
	double u;   /* pairs in which a is greater, ties half                */
	double a12; /* u of all pairs: 0.5 is no effect                      */
	double p;   /* two-sided                                             */
	bool exact; /* p counts all arrangements, ties included              */
};
/* a and b ascending, not empty.  Exact up to NSX_EXACT_PAIRS pairs, beyond by
 * the normal distribution with corrections for ties and continuity.
 */
enum { NSX_EXACT_PAIRS = 400 };
struct nsx_rank_test nsx_rank_test(const int64_t *a, size_t na,
				   const int64_t *b, size_t nb);

/* The interval of the shift that belongs to the rank test at this alpha: the
 * k-th least and the k-th greatest difference (R's wilcox.test).
 */
struct nsx_interval nsx_shift_interval(const int64_t *a, size_t na,
				       const int64_t *b, size_t nb,
				       double alpha);

/* What a bootstrap looks at, of two samples: the shift as above, or the change of
 * the mean or of the 95th percentile.
 */
enum nsx_figure { NSX_FIGURE_SHIFT, NSX_FIGURE_MEAN, NSX_FIGURE_P95 };

/* The interval of a figure by a bootstrap that draws captures, and of each
 * blocks of units as long as neighbours resemble each other.  The same seed,
 * the same interval.  Errors: NSX_E_NOMEM.
 */
enum { NSX_DRAWS = 2000 };
int nsx_bootstrap(const struct nsx_sample *a, const struct nsx_sample *b,
		  enum nsx_figure figure, double alpha, uint64_t seed,
		  struct nsx_interval *ret, struct nsx_err *err) NSX_CHECKED;

/* How often the means of two samples differ about as much when all their units are dealt
 * out at random: two-sided, at least 1 / (NSX_DRAWS + 1).  The same seed, the same p.
 * Errors: NSX_E_NOMEM.
 */
int nsx_mean_test(const struct nsx_sample *a, const struct nsx_sample *b,
		  uint64_t seed, double *ret, struct nsx_err *err) NSX_CHECKED;

/* First lag at which the autocorrelation is below 0.2; at least 1. */
size_t nsx_block_length(const int64_t *v, size_t n);

#endif
