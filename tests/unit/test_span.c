/* test_span.c - interval arithmetic equals that of a slow oracle, which has a bit for each
 * nanosecond.
 */
#include "../testlib.h"
#include "base/span.h"

enum { LINE = 64, MOST = 12 };

struct fixture {
	struct nsx_arena *a;
	struct nsx_err err;
	uint64_t seed;
};

static uint64_t bits_of(const struct nsx_spans *s)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < s->n; i++)
		for (int64_t t = nsx_span_at(s, i).start_ns; t < nsx_span_at(s, i).end_ns; t++)
			bits |= UINT64_C(1) << t;
	return bits;
}

static void assert_is_list(const struct nsx_spans *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct nsx_span x = nsx_span_at(s, i);

		assert_true(x.start_ns < x.end_ns);
		if (i)
			assert_true(nsx_span_at(s, i - 1).end_ns < x.start_ns);
	}
}

/* Makes a list of random spans, many with equal or touching ends. *bits is the oracle's union of
 * them. Every other list is packed.
 */
static struct nsx_spans random_list(struct fixture *f, uint64_t *bits)
{
	size_t n = rnd(&f->seed) % MOST;
	struct nsx_spans s = {0};

	s.v = nsx_arena_try_array(f->a, MOST, sizeof(*s.v), "spans", &f->err);
	s.n = n;
	for (size_t i = 0; i < n; i++) {
		int64_t a = (int64_t)(rnd(&f->seed) % 16) * 4;
		int64_t b = a + (int64_t)(rnd(&f->seed) % 4) * 4;

		s.v[i].start_ns = a;
		s.v[i].end_ns = NSX_MIN(LINE - 1, b);
	}
	*bits = bits_of(&s);
	nsx_spans_normalise(&s);
	if (rnd(&f->seed) & 1)
		assert_int_equal(nsx_spans_pack(f->a, &s, &f->err), 0);
	return s;
}

TEST(set_operations_match_bits)
{
	struct fixture *f = *state;

	for (int round = 0; round < 3000; round++) {
		uint64_t bx, by;
		struct nsx_spans x = random_list(f, &bx);
		struct nsx_spans y = random_list(f, &by);
		struct nsx_spans u, m, i, g;

		assert_is_list(&x);
		assert_true(bits_of(&x) == bx);
		assert_int_equal(nsx_spans_union(f->a, &x, &y, &u, &f->err), 0);
		assert_int_equal(nsx_spans_minus(f->a, &x, &y, &m, &f->err), 0);
		assert_int_equal(nsx_spans_intersect(f->a, &x, &y, &i, &f->err), 0);
		assert_int_equal(nsx_spans_gaps(f->a, &x, 3, 60, &g, &f->err), 0);
		assert_is_list(&u);
		assert_is_list(&m);
		assert_is_list(&i);
		assert_is_list(&g);
		assert_true(bits_of(&u) == (bx | by));
		assert_true(bits_of(&m) == (bx & ~by));
		assert_true(bits_of(&i) == (bx & by));
		assert_true(bits_of(&g) == (~bx & ((UINT64_C(1) << 60) - (UINT64_C(1) << 3))));
		assert_int_equal(nsx_spans_overlap(&x, &y), __builtin_popcountll(bx & by));
		assert_int_equal(nsx_spans_overlap(&y, &x), nsx_spans_overlap(&x, &y));
		assert_int_equal(nsx_spans_minus_total(&x, &y), __builtin_popcountll(bx & ~by));
		nsx_arena_clear(f->a);
	}
}

TEST(queries_match_bits)
{
	struct fixture *f = *state;

	for (int round = 0; round < 3000; round++) {
		uint64_t bits;
		struct nsx_spans s = random_list(f, &bits);
		int64_t *prefix;
		size_t cursor = 0;

		assert_int_equal(nsx_spans_prefix(f->a, &s, &prefix, &f->err), 0);
		for (int64_t a = 0; a < LINE - 4; a++) {
			int64_t b = a + (int64_t)(rnd(&f->seed) % 4);
			uint64_t want = bits & ((UINT64_C(1) << b) - (UINT64_C(1) << a));

			assert_int_equal(nsx_spans_within(&s, prefix, a, b),
					 __builtin_popcountll(want));
			assert_int_equal(nsx_spans_covered(&s, &cursor, a, b),
					 __builtin_popcountll(want));
		}
		nsx_arena_clear(f->a);
	}
}

TEST(a_packed_list_is_given_back)
{
	struct fixture *f = *state;
	uint64_t bits;
	struct nsx_spans s = random_list(f, &bits);

	while (s.v)
		s = random_list(f, &bits);
	nsx_spans_drop(f->a, &s);
	assert_int_equal(nsx_spans_total(&s), 0);
	assert_null(s.start.blocks);
	assert_null(s.length.bytes);
}

TEST(splitting_a_span_changes_no_union)
{
	struct nsx_span whole[] = {{0, 10}}, split[] = {{5, 10}, {0, 5}};
	struct nsx_spans a = {.v = whole, .n = 1}, b = {.v = split, .n = 2};

	nsx_spans_normalise(&a);
	nsx_spans_normalise(&b);
	assert_int_equal(b.n, 1);
	assert_int_equal(nsx_spans_total(&a), nsx_spans_total(&b));
}

/* These are spans of up to 3 groups, and spans of no group, in order of start. */
TEST(group_times_match_bits)
{
	struct fixture *f = *state;

	for (int round = 0; round < 3000; round++) {
		struct nsx_packed first, length;
		int64_t start[MOST], end[MOST], at = 0;
		uint32_t group[MOST];
		uint64_t bits[4] = {0};
		struct nsx_group_time got[3] = {{0}};
		int64_t end_ns[3];
		size_t n = rnd(&f->seed) % MOST;

		for (size_t i = 0; i < n; i++) {
			unsigned g = (unsigned)(rnd(&f->seed) % 4);

			at += (int64_t)(rnd(&f->seed) % 3) * 2;
			start[i] = at;
			end[i] = at + (int64_t)(rnd(&f->seed) % 6) * 2;
			group[i] = g < 3 ? g : NSX_NONE;
			for (int64_t t = start[i]; t < end[i]; t++)
				bits[g] |= UINT64_C(1) << t;
		}
		assert_int_equal(nsx_pack_lengths(f->a, start, end, n, "spans", &length, &f->err),
				 0);
		assert_int_equal(nsx_pack_i64(f->a, start, n, "spans", &first, &f->err), 0);
		nsx_group_times(&first, &length, group, 0, n, got, end_ns);
		for (unsigned g = 0; g < 3; g++) {
			uint64_t others = 0;

			for (unsigned o = 0; o < 4; o++)
				others |= o == g ? 0 : bits[o];
			assert_int_equal(got[g].busy_ns, __builtin_popcountll(bits[g]));
			assert_int_equal(got[g].exclusive_ns,
				__builtin_popcountll(bits[g] & ~others));
		}
	}
}

static int setup(void **state)
{
	static struct fixture f;

	f.a = nsx_arena_new();
	f.seed = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 41;
	print_message("seed %llu\n", (unsigned long long)f.seed);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	nsx_arena_free(((struct fixture *)*state)->a);
	return 0;
}

SET_UP(setup, teardown);
