/* test_column.c - the parts of digests: numbers, columns and sketches. */
#include <zstd.h>
#include "../testlib.h"
#include "fleet/column.h"

TEST(numbers_come_back)
{
	static const int64_t v[] = {0, 1, -1, 63, 64, -64, -65, 127, 128, 16383,
				    16384, INT32_MIN, INT64_MAX, INT64_MIN};
	struct nsx_buf b = {0};
	struct nsx_bytes left;
	uint64_t x = 0;

	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		nsx_put_number(&b, nsx_fold(v[i]));
	left = (struct nsx_bytes){(unsigned char *)b.p, (unsigned char *)b.p + b.n};
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		assert_true(nsx_get_number(&left, &x));
		assert_true(nsx_unfold(x) == v[i]);
	}
	assert_false(nsx_get_number(&left, &x));
	nsx_buf_done(&b);
}

TEST(cut_and_endless_numbers_are_none)
{
	static const unsigned char cut[] = {0x80, 0x80};
	unsigned char endless[20];
	struct nsx_bytes left = {cut, cut + sizeof(cut)};
	uint64_t x;

	assert_false(nsx_get_number(&left, &x));
	memset(endless, 0xff, sizeof(endless));
	left = (struct nsx_bytes){endless, endless + sizeof(endless)};
	assert_false(nsx_get_number(&left, &x));
}

TEST(columns_come_back)
{
	char bytes[5000];
	struct nsx_buf small = {0}, large = {0};
	struct nsx_err err;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i % 7);
	assert_int_equal(nsx_squeeze(bytes, sizeof(bytes), &small, &err), 0);
	assert_true(small.n < 200 && nsx_is_squeezed(small.p, small.n));
	assert_int_equal(nsx_expand(small.p, small.n, sizeof(bytes), &large, &err), 0);
	assert_int_equal(large.n, sizeof(bytes));
	assert_memory_equal(large.p, bytes, sizeof(bytes));
	nsx_buf_done(&large);
	/* A column longer than permitted, one that is cut, and bytes that are no column. */
	assert_true(nsx_expand(small.p, small.n, sizeof(bytes) - 1, &large, &err) < 0);
	assert_true(nsx_expand(small.p, small.n - 3, sizeof(bytes), &large, &err) < 0);
	assert_true(nsx_expand("text", 4, sizeof(bytes), &large, &err) < 0);
	nsx_buf_done(&small);
}

/* zstd does not write the size of what it reads from a pipe. */
TEST(columns_without_a_size)
{
	char bytes[5000] = {0}, packed[500];
	ZSTD_inBuffer in = {bytes, sizeof(bytes), 0};
	ZSTD_outBuffer out = {packed, sizeof(packed), 0};
	ZSTD_CCtx *z = ZSTD_createCCtx();
	struct nsx_buf large = {0};
	struct nsx_err err;

	assert_int_equal(ZSTD_compressStream2(z, &out, &in, ZSTD_e_continue), 0);
	assert_int_equal(ZSTD_compressStream2(z, &out, &in, ZSTD_e_end), 0);
	ZSTD_freeCCtx(z);
	assert_int_equal(nsx_expand(packed, out.pos, 2 * sizeof(bytes), &large, &err), 0);
	assert_int_equal(large.n, sizeof(bytes));
	nsx_buf_done(&large);
	assert_true(nsx_expand(packed, out.pos, sizeof(bytes) - 1, &large, &err) < 0);
	assert_non_null(strstr(err.msg, "expands to more than 4999 bytes"));
}

/* Every quantile of lengths of 1 us or more is right to 1 %. */
TEST(quantiles_of_a_sketch)
{
	static int64_t v[999];
	struct nsx_sketch *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	assert_true(nsx_sketch_quantile(s, 0.5) == 0);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		v[i] = 1000 + (int64_t)(i * i * i);
		nsx_sketch_add(s, v[i], 1);
	}
	for (int q = 0; q <= 10; q++) {
		double is = (double)v[q * 998 / 10];

		assert_true(nsx_sketch_quantile(s, q / 10.0) > 0.99 * is);
		assert_true(nsx_sketch_quantile(s, q / 10.0) < 1.0101 * is);
	}
	free(s);
}

/* The sketches of two parts, read one after the other, give the sketch of the whole. */
TEST(sketches_add_up)
{
	struct nsx_sketch *s = calloc(3, sizeof(*s));
	struct nsx_buf b = {0};

	assert_non_null(s);
	for (int64_t i = 0; i < 400; i++) {
		int64_t ns = i * i * i * i * 5; /* 0 to above 100 s */

		nsx_sketch_add(&s[i % 2], ns, (uint64_t)i + 1);
		nsx_sketch_add(&s[2], ns, (uint64_t)i + 1);
	}
	nsx_sketch_put(&s[0], &b);
	assert_true(nsx_sketch_take(&s[1], b.p, b.n));
	assert_memory_equal(&s[1], &s[2], sizeof(*s));
	/* A bucket after the last one, and a pair of which only half is there. */
	assert_false(nsx_sketch_take(&s[1], "\xa4\x07\x01", 3));
	assert_false(nsx_sketch_take(&s[1], "\x01", 1));
	nsx_buf_done(&b);
	free(s);
}
