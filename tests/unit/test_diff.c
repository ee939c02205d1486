/* test_diff.c - the statistics of `diff` equal values worked out by hand, and those of slow but
 * obvious code.
 */
#include "../testlib.h"
#include "base/stat.h"
#include "diff/match.h"
#include "diff/stats.h"

static size_t draw_sorted(uint64_t *seed, int64_t *v, size_t most, uint64_t range)
{
	size_t n = 1 + rnd(seed) % most;

	for (size_t i = 0; i < n; i++)
		v[i] = (int64_t)(rnd(seed) % range);
	qsort(v, n, sizeof(*v), nsx_cmp_i64);
	return n;
}

TEST(kth_difference_matches_all_pairs)
{
	uint64_t seed = 41;
	int64_t a[30], b[30], all[900];

	for (int round = 0; round < 300; round++) {
		size_t na = draw_sorted(&seed, a, 30, 1 + rnd(&seed) % 200), n = 0;
		size_t nb = draw_sorted(&seed, b, 30, 1 + rnd(&seed) % 200);
		double median;

		for (size_t i = 0; i < na; i++)
			for (size_t j = 0; j < nb; j++)
				all[n++] = a[i] - b[j];
		qsort(all, n, sizeof(*all), nsx_cmp_i64);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(nsx_kth_difference(a, na, b, nb, k), all[k]);
		median = nsx_quantile(all, n, 0.5);
		assert_true(nsx_shift_of(a, na, b, nb) == median);
	}
}

/* 3 values against 3, completely separated: 1 of 20 arrangements on each side. 4 against 4: 1 of 70
 * on each side, so p is 0.0286. These are the smallest samples for which p can be below 0.05.
 */
TEST(rank_test_of_samples_apart)
{
	const int64_t low[] = {1, 2, 3, 4}, high[] = {5, 6, 7, 8};
	struct nsx_rank_test t = nsx_rank_test(high, 3, low, 3);

	assert_true(t.exact && t.u == 9 && t.a12 == 1);
	assert_true(t.p == 0.1);
	t = nsx_rank_test(low, 4, high, 4);
	assert_true(t.u == 0 && t.a12 == 0 && t.p == 2.0 / 70);
}

/* 1 1 2 against 1 2 3. The doubled ranks are 4 4 9 | 4 9 12 (1 occurs three times, 2 twice, 3
 * once). The sum is 17, its mean is 21. Of the 20 choices of three of 4 4 4 9 9 12, those at least
 * as far from the mean have the sums 12 (1 choice), 17 (6), 25 (6) and 30 (1): 14 of 20.
 */
TEST(rank_test_counts_ties)
{
	const int64_t a[] = {1, 1, 2}, b[] = {1, 2, 3};
	struct nsx_rank_test t = nsx_rank_test(a, 3, b, 3);

	assert_true(t.u == 2.5);
	assert_true(t.p > 0.6999 && t.p < 0.7001);
}

/* The share of all choices of na values whose sum is at least as far from the mean. */
static double p_of_all_choices(const int64_t *v, size_t n, size_t na, double u)
{
	double far = 0, all = 0;

	for (unsigned set = 0; set < 1u << n; set++) {
		double sum = 0, middle;

		if ((size_t)__builtin_popcount(set) != na)
			continue;
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < n; j++)
				if ((set >> i & 1) && !(set >> j & 1))
					sum += v[i] > v[j]    ? 1 : v[i] == v[j] ? 0.5 : 0;
		middle = (double)(na * (n - na)) / 2;
		far += (sum > middle ? sum - middle : middle - sum) >=
		       (u > middle ? u - middle : middle - u) - 1e-9;
		all++;
	}
	return far / all;
}

TEST(rank_test_matches_all_choices)
{
	uint64_t seed = 7;
	int64_t a[6], b[6], v[12];

	for (int round = 0; round < 60; round++) {
		size_t na = draw_sorted(&seed, a, 6, 6), nb = draw_sorted(&seed, b, 6, 6);
		struct nsx_rank_test t = nsx_rank_test(a, na, b, nb);
		double p;

		memcpy(v, a, na * sizeof(*v));
		memcpy(v + na, b, nb * sizeof(*v));
		p = p_of_all_choices(v, na + nb, na, t.u);
		assert_true(t.p > p - 1e-9 && t.p < p + 1e-9);
	}
}

/* Beyond 400 pairs the normal distribution is used. At that limit it agrees with the exact test to
 * the second digit.
 */
TEST(rank_test_is_continuous)
{
	struct nsx_rank_test exact, normal;
	int64_t a[21], b[21];

	for (int i = 0; i < 21; i++) {
		a[i] = 10 * i + 37;
		b[i] = 10 * i;
	}
	exact = nsx_rank_test(a, 20, b, 20);
	normal = nsx_rank_test(a, 21, b, 20);
	assert_true(exact.exact && !normal.exact);
	assert_true(exact.p > 0.01 && exact.p < 0.2);
	assert_true(normal.p > exact.p / 2 && normal.p < exact.p * 2);
}

/* 5 against 5: P(U <= 2) = 4 / 252, P(U <= 3) = 7 / 252 = 0.028 > 0.025. So the interval goes from
 * the third smallest to the third greatest difference.
 */
TEST(interval_of_five_and_five)
{
	const int64_t a[] = {100, 110, 120, 130, 140}, b[] = {1, 2, 3, 4, 5};
	struct nsx_interval x = nsx_shift_interval(a, 5, b, 5, 0.05);

	assert_true(x.lo == 97 && x.hi == 137);
}

TEST(bootstrap_repeats_itself)
{
	int64_t a[40], b[40];
	const size_t end[] = {20, 40};
	const struct nsx_sample s[] = {{b, 40, end, 2}, {a, 40, end, 2}};
	struct nsx_interval one, two;
	uint64_t seed = 3;

	for (int i = 0; i < 40; i++) {
		a[i] = 1000 + (int64_t)(rnd(&seed) % 100);
		b[i] = 800 + (int64_t)(rnd(&seed) % 100);
	}
	one = nsx_bootstrap(s, NSX_FIGURE_SHIFT, 0.05, 1);
	two = nsx_bootstrap(s, NSX_FIGURE_SHIFT, 0.05, 1);
	assert_true(one.lo == two.lo && one.hi == two.hi);
	assert_true(one.lo > 150 && one.lo < 200);
	assert_true(one.hi > 200 && one.hi < 250);
}

/* Values of tables: t with 5 % beyond it on both sides, for 1 to 4 and 10 degrees of freedom. */
TEST(t_test_equals_tables)
{
	const double t[] = {12.7062, 4.30265, 3.18245, 2.77645};

	for (unsigned df = 1; df <= 4; df++)
		assert_true(fabs(nsx_t_test(-t[df - 1], df) - 0.05) < 1e-6);
	assert_true(fabs(nsx_t_test(2.22814, 10) - 0.05) < 1e-6);
	assert_true(nsx_t_test(0, 5) == 1 && nsx_t_test(INFINITY, 4) == 0);
}

/* 4 or 6 of 17 units are slow, and none of 17 others. If 4 slow units are distributed at random,
 * all are on one side with probability 2 C(17, 4) / C(34, 4) = 10.3 %; with 6 slow units this is 2
 * C(17, 6) / C(34, 6) = 1.84 %.
 */
TEST(mean_test_counts_slow_units)
{
	const double want[] = {0.1026, 0.0184};
	int64_t slow[17], usual[17];
	const size_t end = 17;
	const struct nsx_sample s[] = {{usual, 17, &end, 1}, {slow, 17, &end, 1}};
	double p;

	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < 17; i++) {
			slow[i] = (i < 4 + 2 * k ? 3000 : 1000) + i;
			usual[i] = 1000 + 3 * i % 17;
		}
		p = nsx_mean_test(s, 1);
		assert_true(p > want[k] - 0.015 && p < want[k] + 0.015);
	}
}

TEST(bootstrap_of_equal_units_is_a_point)
{
	const int64_t v[] = {5, 5, 5, 5, 5};
	const size_t end[] = {5};
	const struct nsx_sample s[] = {{v, 5, end, 1}, {v, 5, end, 1}};
	struct nsx_interval x = nsx_bootstrap(s, NSX_FIGURE_SHIFT, 0.05, 9);

	assert_true(x.lo == 0 && x.hi == 0);
}

/* Alternating values are never equal to the next one. Values in runs of four correlate with 1/2 at
 * lag 1 and not at lag 2.
 */
TEST(block_length_is_where_likeness_ends)
{
	const int64_t alternating[] = {1, 9, 1, 9, 1, 9, 1, 9};
	int64_t fours[32];

	for (int i = 0; i < 32; i++)
		fours[i] = i / 4 % 2 ? 9 : 1;
	assert_int_equal(nsx_block_length(alternating, 8), 1);
	assert_int_equal(nsx_block_length(fours, 32), 2);
	assert_int_equal(nsx_block_length(fours, 1), 1);
}

TEST(slope_ignores_one_slow_unit)
{
	int64_t v[] = {10, 13, 16, 900, 22, 25, 28};
	struct nsx_err err;

	assert_true(nsx_slope(v, 7, &err) == 3);
	assert_true(nsx_slope(v, 1, &err) == 0);
}

TEST(apportion_gives_to_the_largest_remainders)
{
	const nsx_wide v[] = {10, 11, -7}; /* divided by 3: 3.33 3.67 -2.33  */
	int64_t ret[3];

	nsx_apportion(v, 3, 3, 5, ret); /* rounded down 3 3 -3: 2 are missing to the sum 5 */
	assert_int_equal(ret[0], 3);
	assert_int_equal(ret[1], 4);
	assert_int_equal(ret[2], -2);
	assert_int_equal(nsx_round(7, 2), 4);
	assert_int_equal(nsx_round(-7, 2), -4);
	assert_int_equal(nsx_round(-1, 3), 0);
}

TEST(apportioned_rows_add_up)
{
	uint64_t seed = 5;

	for (int round = 0; round < 500; round++) {
		size_t n = 1 + rnd(&seed) % 40;
		nsx_wide v[40], sum = 0, den = 1 + (nsx_wide)(rnd(&seed) % 999);
		int64_t ret[40], total = 0, want;

		for (size_t i = 0; i < n; i++) {
			v[i] = (nsx_wide)(rnd(&seed) % 100000) - 50000;
			sum += v[i];
		}
		want = nsx_round(sum, den);
		nsx_apportion(v, n, den, want, ret);
		for (size_t i = 0; i < n; i++) {
			total += ret[i];
			assert_true(ret[i] * den - v[i] <= den && v[i] - ret[i] * den <= den);
		}
		assert_int_equal(total, want);
	}
}

/* The length of the longest common part, from a table of all prefixes. */
static size_t common_length(const uint32_t *x, size_t nx, const uint32_t *y, size_t ny)
{
	size_t t[41][41] = {{0}};

	for (size_t i = 0; i < nx; i++)
		for (size_t j = 0; j < ny; j++)
			t[i + 1][j + 1] = x[i] == y[j] ? t[i][j] + 1 :
					  NSX_MAX(t[i][j + 1], t[i + 1][j]);
	return t[nx][ny];
}

TEST(alignment_is_a_longest_common_subsequence)
{
	uint64_t seed = 11;
	uint32_t x[40], y[40];
	struct nsx_pair pairs[40];

	for (int round = 0; round < 500; round++) {
		size_t nx = rnd(&seed) % 41, ny = rnd(&seed) % 41, n;
		uint64_t range = 1 + rnd(&seed) % 9;

		for (size_t i = 0; i < 40; i++) {
			x[i] = (uint32_t)(rnd(&seed) % range);
			y[i] = (uint32_t)(rnd(&seed) % range);
		}
		n = nsx_align(x, nx, y, ny, pairs);
		assert_int_equal(n, common_length(x, nx, y, ny));
		for (size_t k = 0; k < n; k++) {
			assert_int_equal(x[pairs[k].i], y[pairs[k].j]);
			assert_true(!k || (pairs[k].i > pairs[k - 1].i &&
					   pairs[k].j > pairs[k - 1].j));
		}
	}
}
