/* real.c - computes digits of reals in long double, in which every power of ten needed is exact. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/real.h"
#include "base/str.h"

struct decimal {
	uint64_t whole; /* the digits as a whole number                      */
	int exponent;	/* decimal exponent of the first digit               */
	/* Whether the digits read back as the same double. */
	enum { READS_BACK, READS_ELSE, MAY_READ_BACK } reads;
};

/* Rounds x to `digits` digits. Returns false if x is too near a rounding boundary, or too small or
 * large.
 */
static bool round_to_digits(double x, int digits, struct decimal *ret)
{
	static const long double powers[] = {
		1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
		1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
		1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
		1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
	const long double doubt = 0.01L; /* more than the error of a product, which is at
					    most half of it */
	long double power, scaled, half, off;
	double mantissa;
	int binary, exponent;

	x = fabs(x);
	if (LDBL_MANT_DIG < 64 || !(x >= 1e-9 && x < 1e15))
		return false;
	mantissa = frexp(x, &binary);
	/* The estimate of log10 is rounded down, and at most one too low. */
	exponent = (binary - 1) * 1233 >> 12;
	if (x * powers[digits - 1 - exponent] >= powers[digits])
		exponent++;
	power = powers[digits - 1 - exponent];
	scaled = x * power;
	ret->whole = (uint64_t)(scaled + 0.5L);
	ret->exponent = exponent;
	off = fabsl(scaled - (long double)ret->whole);
	if (off > 0.5L - doubt || (long double)ret->whole >= powers[digits])
		return false;
	/* This is half the distance to the next double. Below a power of two the next double is
	 * nearer.
	 */
	half = ldexpl(power, binary - DBL_MANT_DIG - 1);
	ret->reads = off > half + doubt ? READS_ELSE :
		     off < half - doubt && mantissa != 0.5 ? READS_BACK :
							      MAY_READ_BACK;
	return true;
}

/* Formats like %g. */
static void write_decimal(char *text, const struct decimal *d, int digits, bool minus)
{
	char digit[24] = "0";
	uint64_t whole = d->whole;
	int n = digits;

	for (int i = digits - 1; i >= 0; i--, whole /= 10)
		digit[i] = (char)('0' + whole % 10);
	while (n > 1 && n > d->exponent + 1 && digit[n - 1] == '0')
		n--;
	if (minus)
		*text++ = '-';
	if (d->exponent < -4) { /* the exponent is at least -9 */
		text[0] = digit[0];
		text[1] = '.';
		memcpy(text + 2, digit + 1, (size_t)n - 1);
		text += n > 1 ? n + 1 : 1;
		memcpy(text, "e-0", 3);
		text[3] = (char)('0' - d->exponent);
		text[4] = '\0';
		return;
	}
	if (d->exponent < 0) {
		*text++ = '0';
		*text++ = '.';
		for (int i = d->exponent; i < -1; i++)
			*text++ = '0';
	}
	for (int i = 0; i < n; i++) {
		*text++ = digit[i];
		if (i == d->exponent && i + 1 < n)
			*text++ = '.';
	}
	*text = '\0';
}

void nsx_real_text(char text[NSX_REAL_SIZE], double x)
{
	for (int digits = 15;; digits++) {
		struct decimal d = {.reads = MAY_READ_BACK};
		bool known = round_to_digits(x, digits, &d);

		if (d.reads == READS_ELSE && digits < 17)
			continue;
		if (known)
			write_decimal(text, &d, digits, x < 0);
		else
			snprintf(text, NSX_REAL_SIZE, "%.*g", digits, x);
		if (digits == 17 || d.reads == READS_BACK || strtod(text, NULL) == x)
			return;
	}
}
