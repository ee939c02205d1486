/* test_columns.c - sorting of rows that are stored as columns, from runs of any kind. */
#include "../testlib.h"
#include "trace/load.h"

enum { MOST = 400, GROUPS = 3 };

struct rows {
	int64_t *start_ns;
	uint32_t *group, *at;
	uint8_t *kind;
};

static uint32_t group_of(const void *ctx, uint32_t i)
{
	return ((const struct rows *)ctx)->group[i];
}

static int cmp_rows(const void *ctx, uint32_t a, uint32_t b)
{
	const struct rows *r = ctx;

	return NSX_CMP(r->group[a], r->group[b]) ?: NSX_CMP(r->start_ns[a], r->start_ns[b]);
}

/* Makes runs of 1 to 100 rows with starts below `most`. A small `most` gives many equal starts. */
static void fill(uint64_t *seed, struct rows *r, size_t n, uint64_t most)
{
	size_t left = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t step = rnd(seed) % 4;

		if (!left--) {
			left = rnd(seed) % 100;
			r->start_ns[i] = (int64_t)(rnd(seed) % most);
		} else {
			r->start_ns[i] = r->start_ns[i - 1] + (int64_t)step;
		}
		r->group[i] = (uint32_t)(rnd(seed) % GROUPS);
		r->at[i] = i;
		r->kind[i] = (uint8_t)i;
	}
}

TEST(rows_of_columns_end_in_order)
{
	uint64_t seed = 11;

	for (int round = 0; round < 2000; round++) {
		struct nsx_arena *a = nsx_arena_new();
		int64_t was_ns[MOST];
		uint32_t was_of[MOST];
		struct rows r;
		struct nsx_colset set = {"rows", {
			NSX_COL(r.start_ns), NSX_COL(r.group), NSX_COL(r.at),
			NSX_COL(r.kind)}, 0};
		size_t n = rnd(&seed) % MOST;
		struct nsx_err err;

		assert_int_equal(nsx_colset_alloc(&set, a, n, &err), 0);
		fill(&seed, &r, n, round % 2 ? 20 : 100000);
		memcpy(was_ns, r.start_ns, n * sizeof(*was_ns));
		memcpy(was_of, r.group, n * sizeof(*was_of));
		assert_int_equal(nsx_colset_sort(&set, group_of, GROUPS, cmp_rows, &r, &err), 0);
		for (uint32_t i = 0; i < n; i++) {
			int c = i ? cmp_rows(&r, i - 1, i) : -1;

			assert_true(c < 0 || (c == 0 && r.at[i - 1] < r.at[i]));
			assert_int_equal(r.start_ns[i], was_ns[r.at[i]]);
			assert_int_equal(r.group[i], was_of[r.at[i]]);
			assert_int_equal(r.kind[i], (uint8_t)r.at[i]);
		}
		nsx_arena_free(a);
	}
}
