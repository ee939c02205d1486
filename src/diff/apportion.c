/* apportion.c - rounding by largest remainders. */
#include "diff/apportion.h"

static nsx_wide floor_div(nsx_wide v, nsx_wide den)
{
	return v / den - (v % den < 0);
}

int64_t nsx_round(nsx_wide v, nsx_wide den)
{
	return (int64_t)(v < 0 ? -((-v * 2 + den) / (den * 2)) : (v * 2 + den) / (den * 2));
}

struct part {
	nsx_wide rest;
	size_t at;
};

NSX_ORDER(cmp_parts, struct part, DOWN(rest), UP(at));

void nsx_apportion(const nsx_wide *v, size_t n, nsx_wide den, int64_t total, int64_t *ret)
{
	struct part *parts;
	nsx_wide missing = total;

	if (!n)
		return;
	parts = nsx_alloc(n, sizeof(*parts));
	for (size_t i = 0; i < n; i++) {
		nsx_wide down = floor_div(v[i], den);

		ret[i] = (int64_t)down;
		missing -= down;
		parts[i] = (struct part){v[i] - down * den, i};
	}
	nsx_sort(parts, n, sizeof(*parts), cmp_parts);
	for (size_t i = 0; i < n && missing > 0; i++, missing--)
		ret[parts[i].at]++;
	if (missing) {
		size_t most = 0;

		for (size_t i = 1; i < n; i++)
			if (llabs(ret[i]) > llabs(ret[most]))
				most = i;
		ret[most] += (int64_t)missing;
	}
	free(parts);
}
