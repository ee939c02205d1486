/* stats.c - order statistics of two samples.
 *
 * The differences a[i] - b[j] of two ascending samples form rows that descend. One walk along the
 * edge counts those that are at most x, so halving the range of x finds the k-th of them.
 */
#include <math.h>
#include "base/arena.h"
#include "base/stat.h"
#include "diff/stats.h"

/* Shift -----------------------------------------------------------------------*/

static uint64_t count_at_most(const int64_t *a, size_t na, const int64_t *b, size_t nb, int64_t x)
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

int64_t nsx_kth_difference(const int64_t *a, size_t na, const int64_t *b, size_t nb, uint64_t k)
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

/* Table [k][s]: the number of ways in which k <= m of n numbers have the sum s. The numbers are
 * doubled ranks, at most 2 n. Sums stay below SUMS because m is the smaller part and m (n - m) is
 * at most NSX_EXACT_PAIRS. Owner: the caller, free().
 */
enum { SUMS = 2048 };

static double (*count_ways(const unsigned *rank, size_t n, size_t m))[SUMS]
{
	double(*ways)[SUMS] = nsx_alloc(m + 1, sizeof(*ways));
	size_t reach = 0;
	ways[0][0] = 1;
	for (size_t i = 0; i < n; i++) {
		reach = NSX_MIN(reach + rank[i], (size_t)SUMS - 1);
		for (size_t k = NSX_MIN(i + 1, m); k-- > 0;)
			for (size_t s = rank[i]; s <= reach; s++)
				ways[k + 1][s] += ways[k][s - rank[i]];
	}
	return ways;
}

/* Ranks both samples together. Ranks are doubled, and tied values share their mean rank. ret_sum:
 * sum of a's ranks; ret_ties: sum of t^3 - t over groups of t ties. rank may be NULL.
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

/* Share of all arrangements whose rank sum is at least as far from the middle. */
static double exact_p(const unsigned *rank, size_t n, size_t m, double sum)
{
	double middle = (double)m * (double)(n + 1); /* twice the middle: ranks are doubled */
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

struct nsx_rank_test nsx_rank_test(const int64_t *a, size_t na, const int64_t *b, size_t nb)
{
	struct nsx_rank_test ret;
	unsigned rank[NSX_EXACT_PAIRS + 1];
	double sum, ties;

	/* Exact with few pairs, because the samples are then short: at most 1 and 400 values. */
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

/* The point above which the standard normal distribution has probability q. */
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

/* The number of differences below the interval: the least u with P(U <= u) of at least alpha / 2,
 * without ties.
 */
static uint64_t below(size_t na, size_t nb, double alpha)
{
	uint64_t pairs = (uint64_t)na * nb, k = 0;
	size_t m = NSX_MIN(na, nb), n = na + nb;
	double(*ways)[SUMS], all = 0, sum = 0, u;
	unsigned rank[NSX_EXACT_PAIRS + 1];

	if (pairs > NSX_EXACT_PAIRS) {
		u = (double)pairs / 2 - normal_above(alpha / 2) *
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

struct nsx_interval nsx_shift_interval(const int64_t *a, size_t na, const int64_t *b, size_t nb,
				       double alpha)
{
	uint64_t pairs = (uint64_t)na * nb, k = below(na, nb, alpha);

	return (struct nsx_interval){
		(double)nsx_kth_difference(a, na, b, nb, k - 1),
		(double)nsx_kth_difference(a, na, b, nb, pairs - k)};
}

double nsx_t_test(double t, unsigned df)
{
	/* Abramowitz and Stegun 1964, 26.7.3 and 26.7.4 */
	bool is_odd = df % 2;
	double angle = atan(fabs(t) / sqrt(df)), sum = 0;
	double square = cos(angle) * cos(angle), term = is_odd ? cos(angle) : 1;

	for (unsigned k = 2 + is_odd; k <= df; k += 2) {
		sum += term;
		term *= square * (k - 1) / k;
	}
	sum *= sin(angle);
	return NSX_MAX(1 - (is_odd ? 2 / M_PI * (angle + sum) : sum), 0);
}

/* Rounding by largest remainders ---------------------------------------------*/

static nsx_wide floor_div(nsx_wide v, nsx_wide den)
{
	return v / den - (v % den < 0);
}

int64_t nsx_round(nsx_wide v, nsx_wide den)
{
	return (int64_t)(v < 0 ? -((-v * 2 + den) / (den * 2)) : (v * 2 + den) / (den * 2));
}

struct part {
	nsx_wide rest;
	size_t at;
};

NSX_ORDER(cmp_parts, struct part, DOWN(rest), UP(at));

void nsx_apportion(const nsx_wide *v, size_t n, nsx_wide den, int64_t total, int64_t *ret)
{
	NSX_AT_EXIT(nsx_free_at) struct part *parts = NULL;
	nsx_wide missing = total;

	if (!n)
		return;
	parts = nsx_alloc(n, sizeof(*parts));
	for (size_t i = 0; i < n; i++) {
		nsx_wide down = floor_div(v[i], den);

		ret[i] = (int64_t)down;
		missing -= down;
		parts[i] = (struct part){v[i] - down * den, i};
	}
	nsx_sort(parts, n, sizeof(*parts), cmp_parts);
	for (size_t i = 0; i < n && missing > 0; i++, missing--)
		ret[parts[i].at]++;
	if (missing) {
		size_t most = 0;

		for (size_t i = 1; i < n; i++)
			if (llabs(ret[i]) > llabs(ret[most]))
				most = i;
		ret[most] += (int64_t)missing;
	}
}
