/* test_pack.c - packed columns give back their values, at every width. */
#include "../testlib.h"
#include "base/pack.h"

enum { MOST = 300 };

/* Lengths of up to 2^62 ns. Some blocks have lengths of all sizes, others of one size. */
TEST(lengths_come_back)
{
	struct nsx_arena *a = nsx_arena_new();
	uint64_t seed = 7;

	for (int round = 0; round < 2000; round++) {
		int64_t start[MOST], end[MOST];
		uint32_t small[MOST];
		size_t n = rnd(&seed) % MOST;
		struct nsx_packed p;
		struct nsx_err err;

		for (size_t i = 0; i < n; i++) {
			unsigned bits = (unsigned)(rnd(&seed) % (round % 63 + 1));

			start[i] = -(INT64_C(1) << 61) + (int64_t)i;
			end[i] = start[i] + (int64_t)(rnd(&seed) & ((UINT64_C(1) << bits) - 1));
		}
		assert_int_equal(nsx_pack_lengths(a, start, end, n, "lengths", &p, &err), 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(nsx_unpack(&p, i), end[i] - start[i]);
		assert_int_equal(nsx_pack_i64(a, end, n, "ends", &p, &err), 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(nsx_unpack(&p, i), end[i]);
		for (size_t i = 0; i < n; i++)
			small[i] = (uint32_t)(end[i] - start[i]);
		assert_int_equal(nsx_pack_u32(a, small, n, "ids", &p, &err), 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(nsx_unpack(&p, i), small[i]);
		for (size_t i = 0; i < n; i++)
			small[i] = rnd(&seed) % 3 ? small[i] : NSX_NONE;
		assert_int_equal(nsx_pack_index(a, small, n, "indices", &p, &err), 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(nsx_unpack_index(&p, i), small[i]);
		nsx_arena_clear(a);
	}
	nsx_arena_free(a);
}

/* A block of one value or of none consists of its head only. */
TEST(what_does_not_change_takes_no_bytes)
{
	struct nsx_arena *a = nsx_arena_new();
	uint32_t same[MOST], none[MOST];
	struct nsx_packed p, q;
	struct nsx_err err;

	for (size_t i = 0; i < MOST; i++) {
		same[i] = 7;
		none[i] = i < MOST - 1 ? NSX_NONE : 7;
	}
	assert_int_equal(nsx_pack_u32(a, same, MOST, "ids", &p, &err), 0);
	assert_int_equal(nsx_pack_index(a, none, MOST, "indices", &q, &err), 0);
	for (size_t i = 0; i < MOST; i++) {
		assert_int_equal(nsx_unpack(&p, i), 7);
		assert_int_equal(nsx_unpack_index(&q, i), none[i]);
	}
	assert_int_equal(p.blocks[2].at, 0);
	assert_int_equal(q.blocks[1].at, 0);
	nsx_arena_free(a);
}

/* The longest span between times within +-2^61, next to an empty span. */
TEST(extremes)
{
	struct nsx_arena *a = nsx_arena_new();
	int64_t start[2] = {-(INT64_C(1) << 61), 0};
	int64_t end[2] = {INT64_C(1) << 61, 0};
	struct nsx_packed p;
	struct nsx_err err;

	assert_int_equal(nsx_pack_lengths(a, start, end, 2, "lengths", &p, &err), 0);
	assert_int_equal(nsx_unpack(&p, 0), INT64_C(1) << 62);
	assert_int_equal(nsx_unpack(&p, 1), 0);
	nsx_arena_free(a);
}
