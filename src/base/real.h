/* real.h - reals as decimal text, for a fraction of the time of printf and strtod. */
#ifndef NSX_REAL_H
#define NSX_REAL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { NSX_REAL_SIZE = 40 };

/* In the fewest digits, of 15 or more, that read back the same. */
void nsx_real_text(char text[NSX_REAL_SIZE], double x);

/* Whether it is a whole number of millionths, as nanoseconds in a larger unit are:
 * *ret / 1e6, to the last bit.
 */
static inline bool nsx_real_millionths(double x, int64_t *ret)
{
	double scaled = x * 1e6, back;

	if (!(fabs(scaled) < 1e15))
		return false;
	*ret = (int64_t)(scaled + (x < 0 ? -0.5 : 0.5));
	back = (double)*ret / 1e6;
	return !memcmp(&back, &x, sizeof(x)); /* 0 has a sign */
}

#endif
