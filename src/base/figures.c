/* figures.c - numbers with the unit that fits. */
#include <math.h>
#include <stdio.h>
#include "base/figures.h"

/* Formats the first three digits of x without trailing zeros. */
static void put_digits(char *buf, size_t size, double x)
{
	int decimals = fabs(x) < 9.995 ? 2 : fabs(x) < 99.95 ? 1 : 0;
	int n = snprintf(buf, size, "%.*f", decimals, x);

	while (decimals && n > 1 && buf[n - 1] == '0') {
		buf[--n] = '\0';
		decimals--;
	}
	if (n > 1 && buf[n - 1] == '.')
		buf[n - 1] = '\0';
}

struct unit {
	double size;
	const char *name;
};

/* Formats x in the largest unit in which it is at least 1; below 1 in the first unit. A value that
 * would be rounded up to a thousand gets the next unit.
 */
static const char *format_in_units(struct nsx_arena *a, double x, const struct unit *units,
				   size_t n)
{
	char digits[400];
	size_t i = 0;

	while (i + 1 < n && fabs(x) >= units[i + 1].size * 0.9995)
		i++;
	put_digits(digits, sizeof(digits), fabs(x) / units[i].size);
	return nsx_arena_printf(a, "%s%s%s", x < 0 ? "−" : "", digits, units[i].name);
}

const char *nsx_text_ns(struct nsx_arena *a, double ns)
{
	static const struct unit units[] = {
		{1, " ns"}, {1e3, " µs"}, {1e6, " ms"}, {1e9, " s"}, {3600e9, " h"}};

	return format_in_units(a, ns, units, ARRAY_LEN(units));
}

const char *nsx_text_bytes(struct nsx_arena *a, double bytes)
{
	static const struct unit units[] = {
		{1, " B"}, {1e3, " kB"}, {1e6, " MB"}, {1e9, " GB"},
		{1e12, " TB"}};

	return format_in_units(a, bytes, units, ARRAY_LEN(units));
}

const char *nsx_text_count(struct nsx_arena *a, double n)
{
	static const struct unit units[] = {{1, ""}, {1e6, " M"}, {1e9, " G"}};

	if (fabs(n) < 99999.5)
		return nsx_arena_printf(a, "%.0f", n);
	if (fabs(n) < 999500)
		return nsx_arena_printf(a, "%.0f 000", n / 1e3);
	return format_in_units(a, n, units, ARRAY_LEN(units));
}

const char *nsx_text_share(struct nsx_arena *a, double part, double whole)
{
	double pct = whole > 0 ? 100 * part / whole : NAN;

	if (!isfinite(pct))
		return "–";
	if (pct > 0 && pct < 0.05)
		return "under 0.1 %";
	if (pct < 0 && pct > -0.05)
		return "0.0 %"; /* a tiny negative share must not print as -0.0 */
	if (pct < 100 && pct >= 99.95)
		return "over 99.9 %";
	if (pct >= 99.5 && pct < 100)
		return nsx_arena_printf(a, "%.1f %%", pct);
	return nsx_arena_printf(a, "%s%.*f %%", pct < 0 ? "−" : "",
				pct != 0 && fabs(pct) < 9.95, fabs(pct));
}

const char *nsx_text_n(struct nsx_arena *a, size_t n, const char *one, const char *many)
{
	return nsx_arena_printf(a, "%s %s%s", nsx_text_count(a, (double)n),
				n == 1 || !many ? one : many, n != 1 && !many ? "s" : "");
}
