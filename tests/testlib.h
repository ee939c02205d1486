/* testlib.h - the header that every unit test includes: cmocka's headers in the order that it
 * needs, and main().
 *
 *	TEST(union_ignores_order)
 *	{
 *		...
 *	}
 *
 * defines a test. The program runs its tests in the order of the file. NSX_TEST=PATTERN selects
 * tests by name; the name of this one is test_union_ignores_order.
 */
#ifndef NSX_TESTLIB_H
#define NSX_TESTLIB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct CMUnitTest tests[64];
static size_t ntests;
static CMFixtureFunction before_all, after_all;
static const char *fixtures; /* folder of the fixtures */

/* Before main(). */
#define AT_START(name) __attribute__((constructor)) static void name(void)

#define TEST(name)                                                            \
	static void test_##name(void **state);                                \
	AT_START(list_##name)                                                 \
	{                                                                     \
		assert_in_range(ntests, 0, sizeof(tests) / sizeof(*tests) - 1); \
		tests[ntests++] = (struct CMUnitTest)cmocka_unit_test(        \
			test_##name);                                         \
	}                                                                     \
	static void test_##name(void **state __attribute__((unused)))

/* Sets the functions that are called once before and after all tests; NULL: none. */
#define SET_UP(before, after)                                                 \
	AT_START(list_set_up)                                                 \
	{                                                                     \
		before_all = before;                                          \
		after_all = after;                                            \
	}                                                                     \
	_Static_assert(1, "")

int main(int argc, char **argv)
{
	fixtures = argc > 1 ? argv[1] : "build/fixtures";
	if (getenv("NSX_TEST") && *getenv("NSX_TEST"))
		cmocka_set_test_filter(getenv("NSX_TEST"));
	return _cmocka_run_group_tests("tests", tests, ntests, before_all, after_all);
}

/* splitmix64: the seed is printed by the tests that use it. */
static inline uint64_t rnd(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

#endif
