#include "../testlib.h"
#include "base/stat.h"

TEST(quantile_interpolates)
{
	int64_t v[] = {40, 10, 30, 20};

	assert_true(nsx_quantile(v, 4, 0.5) == 25);
	assert_true(nsx_quantile(v, 4, 0) == 10);
	assert_true(nsx_quantile(v, 4, 1) == 40);
	assert_true(nsx_quantile(v, 1, 0.9) == (double)v[0]);
}

/* Returns durations that are evenly distributed, or mostly short with a few a million times as
 * long.
 */
static int64_t sample(uint64_t *seed, uint64_t range, bool is_skewed)
{
	uint64_t x = rnd(seed) % range;

	return (int64_t)(is_skewed ? x << rnd(seed) % 20 * (rnd(seed) % 8 == 0) : x) - 300;
}

/* Compares quantiles with those of a full sort, on small and large samples with many ties.
 * Only the order of the sample may change.
 */
TEST(quantiles_match_a_full_sort)
{
	static const double qs[] = {0, 0.25, 0.5, 0.9, 0.99, 1};
	uint64_t seed = 41;
	static int64_t a[6000], b[6000];
	double got[6];

	for (int round = 0; round < 500; round++) {
		size_t n = 1 + rnd(&seed) % (round % 2 ? 6000 : 500);
		uint64_t range = 1 + rnd(&seed) % (round % 3 ? 1000 : 1 << 30);

		for (size_t i = 0; i < n; i++)
			a[i] = b[i] = sample(&seed, range, round % 5 == 0);
		qsort(b, n, sizeof(*b), nsx_cmp_i64);
		nsx_quantiles(a, n, qs, 6, got);
		for (int q = 0; q < 6; q++) {
			double pos = (double)(n - 1) * qs[q];
			size_t k = (size_t)pos;
			double want = (double)b[k];

			if (k + 1 < n)
				want += (pos - (double)k) * (double)(b[k + 1] - b[k]);
			assert_true(got[q] == want);
		}
		qsort(a, n, sizeof(*a), nsx_cmp_i64);
		assert_memory_equal(a, b, n * sizeof(*a));
	}
}

TEST(stddev_is_of_the_sample)
{
	int64_t v[] = {2, 4, 4, 4, 5, 5, 7, 9};

	assert_true(nsx_stddev(v, 8) > 2.138 && nsx_stddev(v, 8) < 2.139);
	assert_true(nsx_stddev(v, 1) != nsx_stddev(v, 1));
}

TEST(sums_stop_at_the_edge)
{
	assert_true(nsx_add_sat(INT64_MAX, 1) == INT64_MAX);
	assert_true(nsx_add_sat(INT64_MIN, -1) == INT64_MIN);
	assert_true(nsx_add_sat(3, -5) == -2);
}
