/* real.h - formats reals as decimal text, much faster than printf and strtod. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { NSX_REAL_SIZE = 40 };

/* Writes the shortest text of 15 or more digits that reads back as the same value. */
void nsx_real_text(char text[NSX_REAL_SIZE], double x);

/* Whether x is a whole number of millionths, as times in nanoseconds are in a larger unit: then x
 * is exactly *ret / 1e6.
 */
static inline bool nsx_real_millionths(double x, int64_t *ret)
{
	double scaled = x * 1e6, back;

	if (!(fabs(scaled) < 1e15))
		return false;
	*ret = (int64_t)(scaled + (x < 0 ? -0.5 : 0.5));
	back = (double)*ret / 1e6;
	return !memcmp(&back, &x, sizeof(x)); /* -0.0 differs from 0 by its sign */
}
