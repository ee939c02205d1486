#include <math.h>
#include "../testlib.h"
#include "base/base.h"

struct row {
	uint32_t key, at;
};

NSX_ORDER(cmp_rows, struct row, UP(key));
NSX_ORDER(cmp_all, struct row, UP(key), UP(at));

enum { MOST = 600 };

/* Makes an array of `runs` sorted runs, with keys below `keys`. */
static size_t make_runs(uint64_t *seed, struct row *v, size_t runs, uint32_t keys)
{
	size_t n = 0;

	for (size_t r = 0; r < runs && n < MOST; r++) {
		size_t begin = n;

		for (size_t len = 1 + rnd(seed) % 40; len && n < MOST; len--)
			v[n++].key = (uint32_t)(rnd(seed) % keys);
		qsort(v + begin, n - begin, sizeof(*v), cmp_rows);
	}
	for (uint32_t i = 0; i < n; i++)
		v[i].at = i;
	return n;
}

/* Arrays of one run, of two, of as many as are merged, and of more. The last are sorted by libc,
 * which does not keep the order of equal keys.
 */
TEST(rows_end_in_order)
{
	uint64_t seed = 7;

	for (size_t runs = 0; runs < 50; runs++)
		for (uint32_t keys = 1; keys < 2000; keys *= 7) {
			struct row v[MOST] = {{0, 0}}, want[MOST];
			size_t n = make_runs(&seed, v, runs, keys);

			memcpy(want, v, sizeof(v));
			qsort(want, n, sizeof(*v), cmp_all);
			nsx_sort(v, n, sizeof(*v), cmp_rows);
			for (size_t i = 0; i < n; i++) {
				assert_int_equal(v[i].key, want[i].key);
				if (runs <= 32)
					assert_int_equal(v[i].at, want[i].at);
			}
		}
}

/* A key that is equal for some elements that the order distinguishes, which is permitted. */
static int64_t half_of(const void *row, void *context NSX_UNUSED)
{
	return -(int64_t)(((const struct row *)row)->key / 2);
}

NSX_ORDER(cmp_down, struct row, DOWN(key), UP(at));

static int cmp_down_r(const void *a, const void *b, void *context NSX_UNUSED)
{
	return cmp_down(a, b);
}

/* Arrays below and above the size from which radix sort is used. Equal rows keep their order. */
TEST(rows_end_in_order_of_a_key)
{
	uint64_t seed = 7;

	for (size_t runs = 0; runs < 50; runs++)
		for (uint32_t keys = 1; keys < 2000; keys *= 7) {
			struct row v[MOST] = {{0, 0}}, want[MOST];
			size_t n = make_runs(&seed, v, runs, keys);

			memcpy(want, v, sizeof(v));
			qsort(want, n, sizeof(*v), cmp_down);
			nsx_sort_by_key_r(v, n, n, sizeof(*v), half_of, cmp_down_r, NULL);
			assert_memory_equal(v, want, n * sizeof(*v));
		}
}

static int64_t itself(const void *number, void *context NSX_UNUSED)
{
	return *(const int64_t *)number;
}

static int cmp_numbers(const void *a, const void *b, void *context)
{
	return NSX_CMP(itself(a, context), itself(b, context));
}

/* Many keys lie close together and far from others, so that 32 bits of the key do not distinguish
 * them.
 */
TEST(keys_may_differ_in_any_bit)
{
	enum { N = 2400 };
	int64_t v[N], want[N];
	uint64_t x = 3;

	for (size_t i = 0; i < N; i++) {
		x = x * UINT64_C(6364136223846793005) + 1;
		v[i] = i % 3 ? (int64_t)(x >> 54) : (int64_t)x >> i % 64;
	}
	memcpy(want, v, sizeof(v));
	qsort_r(want, N, sizeof(*v), cmp_numbers, NULL);
	nsx_sort_by_key_r(v, N, N, sizeof(*v), itself, cmp_numbers, NULL);
	assert_memory_equal(v, want, sizeof(v));
}

static int64_t key_of_index(const void *index, void *keys)
{
	return ((const int64_t *)keys)[*(const uint32_t *)index];
}

static int cmp_indices(const void *a, const void *b, void *keys)
{
	return NSX_CMP(key_of_index(a, keys), key_of_index(b, keys)) ?:
	       NSX_CMP(*(const uint32_t *)b, *(const uint32_t *)a);
}

/* Many parts with few elements each, one part with nearly all elements, and few distinct keys. */
TEST(a_great_many_indices_end_in_order)
{
	enum { N = 100000 };
	int64_t *keys = calloc(N, sizeof(*keys));
	uint32_t *v = calloc(N, sizeof(*v));
	uint64_t seed = 5;

	for (unsigned kind = 0; kind < 3; kind++) {
		for (uint32_t i = 0; i < N; i++) {
			int64_t x = (int64_t)(rnd(&seed) % 1000000);

			keys[i] = kind == 0 ? x * 77 - 1000000 :
				  kind == 1 ? (i % 1000 ? x : x << 30) :
					      x % 3;
			v[i] = i;
		}
		nsx_sort_by_key_r(v, N, N, sizeof(*v), key_of_index, cmp_indices, keys);
		for (uint32_t i = 1; i < N; i++)
			assert_true(cmp_indices(&v[i - 1], &v[i], keys) < 0);
	}
	free(v);
	free(keys);
}

/* The first elements are sorted, and all others still follow them. */
TEST(the_first_end_in_order)
{
	uint64_t seed = 11;

	for (size_t runs = 0; runs < 50; runs++) {
		struct row v[MOST] = {{0, 0}}, want[MOST];
		size_t n = make_runs(&seed, v, runs, 40), most = n * runs / 49;

		memcpy(want, v, sizeof(v));
		qsort(want, n, sizeof(*v), cmp_down);
		nsx_sort_by_key_r(v, n, most, sizeof(*v), half_of, cmp_down_r, NULL);
		assert_memory_equal(v, want, most * sizeof(*v));
		qsort(v, n, sizeof(*v), cmp_down);
		assert_memory_equal(v, want, n * sizeof(*v));
	}
}

TEST(reals_have_keys_in_their_order)
{
	static const double v[] = {-INFINITY, -1e300, -1.5, -1, -1e-300, 0,
				   1e-300, 1, 1.5, 1e300, INFINITY};

	assert_int_equal(nsx_real_key(-0.0), nsx_real_key(0.0));
	for (size_t i = 1; i < ARRAY_LEN(v); i++)
		assert_true(nsx_real_key(v[i - 1]) < nsx_real_key(v[i]));
}

TEST(nothing_is_in_order)
{
	nsx_sort(NULL, 0, 8, cmp_rows);
	nsx_sort_by_key_r(NULL, 0, 0, 8, half_of, cmp_down_r, NULL);
}
