/* test_str.c - interned strings: tables, tables on top of another, packed texts. */
#include "../testlib.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/str.h"

static nsx_str add(struct nsx_strings *s, const char *text)
{
	struct nsx_err err;
	nsx_str id = 0;

	assert_int_equal(nsx_strings_add(s, text, strlen(text), &id, &err), 0);
	return id;
}

TEST(table_over_another_keeps_its_ids)
{
	struct nsx_strings *under = nsx_strings_new(), *over;
	size_t bound;
	nsx_str ids[100];
	char text[16];

	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		ids[i] = add(under, text);
	}
	bound = nsx_strings_bound(under);
	over = nsx_strings_over(under);
	for (int i = 0; i < 200; i++) {
		nsx_str id;

		snprintf(text, sizeof(text), "name %d", i);
		id = add(over, text);
		if (i < 100)
			assert_int_equal(id, ids[i]);
		else
			assert_true(id >= bound);
		assert_int_equal(add(over, text), id);
		assert_true(id < nsx_strings_bound(over));
		assert_string_equal(nsx_str_text(over, id), text);
	}
	assert_int_equal(nsx_strings_bound(under), bound);
	assert_true(nsx_str_cmp(over, ids[3], add(over, "name 150")) > 0);
	nsx_strings_free(over);
	nsx_strings_free(under);
}

/* Makes names like those of templates and of generated kernels, with long parts in common. */
static void make_name(char *text, size_t size, unsigned i)
{
	unsigned long long noise = i * 0x9e3779b97f4a7c15ull;
	int n = 0;

	switch (i % 400 == 3 ? 3 : i % 3) {
	case 0:
		snprintf(text, size, "void at::native::vectorized_kernel<(int)%u, "
			 "at::native::CUDAFunctor_add<float>, std::array<char *, "
			 "(unsigned long)3>>(int, T2, T3, std::array<char *, "
			 "(unsigned long)3>, void (*)(T2, T3)) #%u", i % 7, i);
		break;
	case 1:
		snprintf(text, size, "triton_poi_fused_%s_%u", i % 3 ? "größe_add" : "mul", i);
		break;
	case 2: /* more new bytes than one piece holds */
		while (n < 400)
			n += snprintf(text + n, size - (size_t)n, "%llx",
				      noise *= 0x9e3779b97f4a7c15ull);
		break;
	default: /* too long to be packed */
		memset(text, 'x', 5000);
		snprintf(text + 5000, size - 5000, "%u", i);
	}
	if (i % 1000 == 5)
		text[5] = '\0'; /* short texts, which repeat often */
}

TEST(texts_are_the_same_packed_and_unpacked)
{
	enum { N = 100000 };
	struct nsx_strings *s = nsx_strings_new();
	nsx_str *ids = calloc(N, sizeof(*ids));
	struct nsx_buf b = {0};
	char text[6000];

	for (unsigned i = 0; i < N; i++) {
		make_name(text, sizeof(text), i);
		ids[i] = add(s, text);
	}
	for (unsigned i = 0; i < N; i++) {
		make_name(text, sizeof(text), i);
		assert_int_equal(add(s, text), ids[i]);
		assert_int_equal(nsx_strings_find(s, text), ids[i]);
		assert_string_equal(nsx_str_read(s, ids[i], &b), text);
		if (i % 5)
			continue;
		assert_string_equal(nsx_str_text(s, ids[i]), text);
		assert_ptr_equal(nsx_str_read(s, ids[i], &b), nsx_str_text(s, ids[i]));
		assert_int_equal(nsx_strings_find(s, text), ids[i]);
	}
	assert_int_equal(nsx_strings_find(s, "triton_poi_fused_mul_"), 0);
	nsx_buf_done(&b);
	free(ids);
	nsx_strings_free(s);
}

/* The sizes make slots of one, two and three bytes. */
TEST(closed_tables_of_any_size_find_theirs_and_nothing_else)
{
	static const unsigned sizes[] = {1, 2000, 40000, 1100000};
	char text[16];

	for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
		struct nsx_strings *s = nsx_strings_new();
		nsx_str first = add(s, "0"), last = first;

		for (unsigned i = 1; i < sizes[k]; i++) {
			snprintf(text, sizeof(text), "%u", i);
			last = add(s, text);
		}
		nsx_strings_close(s);
		snprintf(text, sizeof(text), "%u", sizes[k] - 1);
		assert_int_equal(nsx_strings_find(s, text), last);
		assert_int_equal(nsx_strings_find(s, "0"), first);
		for (unsigned i = 0; i < sizes[k] + 1000; i += 1 + i / 5000) {
			nsx_str id;

			snprintf(text, sizeof(text), "%u", i);
			id = nsx_strings_find(s, text);
			assert_int_equal(id != 0, i < sizes[k]);
			assert_string_equal(nsx_str_text(s, id), id ? text : "");
		}
		nsx_strings_free(s);
	}
}

TEST(texts_added_late_are_the_same_and_a_closed_table_finds_them)
{
	enum { N = 20000 };
	struct nsx_strings *s = nsx_strings_new(), *over;
	struct nsx_late_strings late = {.n = 0};
	nsx_str *ids = calloc(2 * N, sizeof(*ids)), id;
	struct nsx_err err;
	char text[6000];

	assert_int_equal(nsx_strings_settle(s, &late, &err), 0);
	for (unsigned i = 0; i < 2 * N; i++) { /* each text twice */
		make_name(text, sizeof(text), i % N);
		assert_int_equal(nsx_strings_add_late(s, &late, text, strlen(text), &ids[i],
						      &err), 0);
	}
	assert_int_equal(nsx_strings_settle(s, &late, &err), 0);
	nsx_buf_done(&late.texts);
	nsx_strings_close(s);
	over = nsx_strings_over(s);
	for (unsigned i = 0; i < N; i++) {
		make_name(text, sizeof(text), i);
		assert_int_equal(ids[N + i], ids[i]);
		assert_string_equal(nsx_str_text(s, ids[i]), text);
		assert_int_equal(nsx_strings_find(s, text), ids[i]);
		assert_int_equal(add(over, text), ids[i]);
	}
	assert_int_equal(nsx_strings_find(s, "none of them"), 0);
	id = add(over, "none of them");
	assert_int_equal(add(over, "none of them"), id);
	free(ids);
	nsx_strings_free(over);
	nsx_strings_free(s);
}
