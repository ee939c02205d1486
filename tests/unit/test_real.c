/* test_real.c - the text of reals equals that of printf. */
#include "../testlib.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/base.h"
#include "base/real.h"

/* A random number: fractions, numbers near powers of ten and of two, and numbers out of range. */
static double random_number(size_t i)
{
	static const double v[] = {0, -0.0, 0.1, 0.3, 1.0 / 3, 100.0 / 7, 1e-9,
				   1e15, 0.099999999999999992,
				   0.999999999999999, 9.9999999999999995e-07,
				   123456.789012345, 1e-300, 5e-324,
				   1.7976931348623157e308};
	double n = (double)(i / 6);

	if (i < ARRAY_LEN(v))
		return v[i];
	switch (i % 6) {
	case 0:
		return -100 * n / 3001;
	case 1:
		return n / 1e6;
	case 2:
		return ldexp(1 + n / 4096, (int)(i % 83) - 32);
	case 3:
		return ldexp(1, (int)(i / 6 % 83) - 32);
	case 4:
		return nextafter(pow(10, (double)(i % 25) - 9.0), i % 2 ? 0 : 1e30);
	default:
		return 100 * n / pow(10, 3 + (double)(i % 11)) / 3001;
	}
}

enum { NUMBERS = 20000 };

/* A real is printed with the fewest of 15, 16 and 17 digits that read back as the same real. */
TEST(reals_have_the_fewest_digits)
{
	char text[NSX_REAL_SIZE], want[NSX_REAL_SIZE];

	for (size_t i = 0; i < NUMBERS; i++) {
		for (int digits = 15; digits <= 17; digits++) {
			snprintf(want, sizeof(want), "%.*g", digits, random_number(i));
			if (strtod(want, NULL) == random_number(i))
				break;
		}
		nsx_real_text(text, random_number(i));
		assert_string_equal(text, want);
	}
}
