/* test_csv.c - reals in CSV: the shortest decimal that reads back the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "emit/emit.h"

#define COLUMNS(X) X(NUMBER, "x", F64, "a number")
NSX_COLUMNS(cols, COLUMNS);
static const struct nsx_layout layout = {.key = "t", .csv = "t", NSX_COLS(cols)};

/* What the header of csv.c promises, by trying. */
static void shortest(double x, char *text, size_t size)
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, size, "%.*g", digits, x);
		if (strtod(text, NULL) == x)
			break;
	}
	if (!strpbrk(text, ".eE"))
		strcat(text, ".0");
}

static uint64_t rnd(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static double number(uint64_t *seed)
{
	static const double odd[] = {0, -0.0, 1e-4, 9.99999e-5, 1e9, 999999999.999999,
				     1e-6, 0.1, -0.000123, 1e300, 5e-324};
	uint64_t bits = rnd(seed), r = rnd(seed);
	double x;

	switch (r % 4) {
	case 0: /* nanoseconds as milliseconds */
		return (double)(int64_t)(bits >> (r >> 8) % 64) / 1e6;
	case 1: /* ... as microseconds */
		return -(double)(int64_t)(bits >> (r >> 8) % 64) / 1e3;
	case 2:
		return odd[bits % ARRAY_LEN(odd)];
	default:
		memcpy(&x, &bits, sizeof(x));
		return x;
	}
}

static void test_reals_are_shortest(void **state)
{
	enum { N = 20000 };
	struct nsx_table t = {.layout = &layout};
	struct nsx_err err;
	uint64_t seed = 3;
	char *text, *line;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	(void)state;
	for (int i = 0; i < N; i++)
		nsx_row(&t, &err)[0] = nsx_real(number(&seed));
	assert_int_equal(nsx_emit_csv(&layout, &t, f, &err), 0);
	fclose(f);
	line = text + strcspn(text, "\n") + 1;
	for (size_t i = 0; i < N; i++) {
		char want[64] = "";

		if (t.cells[i].type == NSX_T_F64)
			shortest(t.cells[i].u.f, want, sizeof(want));
		n = strcspn(line, "\r\n");
		assert_int_equal(n, strlen(want));
		assert_memory_equal(line, want, n);
		line += strcspn(line, "\n") + 1;
	}
	free(text);
	free(t.cells);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reals_are_shortest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
