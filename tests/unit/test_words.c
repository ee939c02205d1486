/* test_words.c - numbers as text: three digits in a suitable unit; and printed windows, which are
 * never shorter than the spans that they stand for.
 */
#include "../testlib.h"
#include <stdio.h>
#include "report/text.h"
#include "report/words.h"

static struct nsx_arena *a;

static int set_up(void **state NSX_UNUSED)
{
	a = nsx_arena_new();
	return 0;
}

static int tear_down(void **state NSX_UNUSED)
{
	nsx_arena_free(a);
	return 0;
}
SET_UP(set_up, tear_down);

TEST(units)
{
	assert_string_equal(nsx_text_ns(a, 421.4e6), "421 ms");
	assert_string_equal(nsx_text_ns(a, 1700), "1.7 µs");
	assert_string_equal(nsx_text_ns(a, 999.4), "999 ns");
	assert_string_equal(nsx_text_ns(a, 999.6), "1 µs");
	assert_string_equal(nsx_text_ns(a, 9.999e6), "10 ms");
	assert_string_equal(nsx_text_ns(a, 10799e9), "3 h");
	assert_string_equal(nsx_text_ns(a, -2084), "−2.08 µs");
	assert_string_equal(nsx_text_ns(a, 0), "0 ns");
	assert_string_equal(nsx_text_ns(a, 5.4e12), "1.5 h");
	assert_string_equal(nsx_text_bytes(a, 25.48e9), "25.5 GB");
	assert_string_equal(nsx_text_bytes(a, 1), "1 B");
	assert_string_equal(nsx_text_count(a, 99999), "99999");
	assert_string_equal(nsx_text_count(a, 290400), "290 000");
	assert_string_equal(nsx_text_count(a, 1.2e6), "1.2 M");
	assert_string_equal(nsx_text_n(a, 1, "call", NULL), "1 call");
	assert_string_equal(nsx_text_n(a, 0, "copy", "copies"), "0 copies");
	assert_string_equal(nsx_text_api(a, "cudaLaunchKernel_v7000"), "cudaLaunchKernel");
}

TEST(a_share_is_never_none_or_all_of_what_is_not)
{
	assert_string_equal(nsx_text_share(a, 97, 100), "97 %");
	assert_string_equal(nsx_text_share(a, 4, 1000), "0.4 %");
	assert_string_equal(nsx_text_share(a, -4, 1000), "−0.4 %");
	assert_string_equal(nsx_text_share(a, 0, 10), "0 %");
	assert_string_equal(nsx_text_share(a, 10, 10), "100 %");
	assert_string_equal(nsx_text_share(a, 1, 100000), "under 0.1 %");
	assert_string_equal(nsx_text_share(a, 99999, 100000), "over 99.9 %");
	assert_string_equal(nsx_text_share(a, 996, 1000), "99.6 %");
	assert_string_equal(nsx_text_share(a, 1, 0), "–");
}

TEST(instants)
{
	assert_string_equal(nsx_text_instant(a, INT64_C(60331003206), 3), "60.331s");
	assert_string_equal(nsx_text_instant(a, -1500000, 3), "-0.002s");
	assert_string_equal(nsx_text_instant(a, 7, 9), "0.000000007s");
}

/* A window that is printed and read again contains the original window. */
TEST(windows_hold_what_they_name)
{
	uint64_t seed = 7;

	for (int i = 0; i < 2000; i++) {
		int64_t start = (int64_t)(rnd(&seed) % 90000000000u) - 45000000000;
		int64_t length = 1 + (int64_t)(rnd(&seed) % (1u << (1 + rnd(&seed) % 31)));
		struct nsx_window w = {start, start + length}, got;
		struct nsx_err err;

		assert_int_equal(nsx_window_parse(nsx_text_window(a, &w), 5, &got, &err), 0);
		assert_true(got.start_ns <= w.start_ns);
		assert_true(got.end_ns >= w.end_ns);
		assert_true(got.end_ns - got.start_ns <= length + length / 25 + 2);
	}
}

TEST(markdown_as_plain_text)
{
	struct nsx_buf b = {0};

	nsx_md_add_plain(&b, "**a** `b_c` \\[d\\] &lt;e&gt; `f**` **g** \\");
	assert_string_equal(b.p, "a b_c [d] <e> f** g \\");
	nsx_buf_done(&b);
}

TEST(a_long_name_loses_what_tells_least)
{
	char path[400], many[1200];

	memset(many, 'x', sizeof(many));
	many[sizeof(many) - 1] = '\0';
	snprintf(path, sizeof(path), "outer > %.60s > %.60s > inner", many, many);
	assert_string_equal(nsx_text_name(a, path), "`outer > … > inner`");
	snprintf(path, sizeof(path), "%.80s > inner", many);
	assert_string_equal(nsx_text_name(a, path), "`… > inner`");
	snprintf(path, sizeof(path), "run::go(std::pair<int (*)(long), %.60s>) const", many);
	assert_string_equal(nsx_text_name(a, path), "`run::go(…)`");
	snprintf(path, sizeof(path), "run::go(std::vector<%.80s", many); /* cut */
	assert_string_equal(nsx_text_name(a, path), "`run::go(…)`");
	assert_string_equal(nsx_text_name(a, "run(int)"), "`run(int)`");
	assert_int_equal(strlen(nsx_text_name(a, many)), 79 + strlen("`…`"));
	assert_int_equal(strlen(nsx_text_whole_name(a, many)), 1199 + 2);
}
