/* align.c - the longest common subsequence of two sequences (Myers 1986, "An O(ND) difference
 * algorithm"). For each number of edits d the furthest place on every diagonal is kept, so that the
 * path can be walked back.
 */
#include "diff/match.h"

/* Index in trail of v[k] in round d, where k is in [-d, d]. */
static size_t slot(int64_t d, int64_t k)
{
	return (size_t)(d * d + d + k);
}

/* Whether diagonal k is best reached from diagonal k + 1 of round d - 1. */
static bool comes_down(const uint32_t *trail, int64_t d, int64_t k)
{
	return k == -d || (k != d && trail[slot(d - 1, k - 1)] < trail[slot(d - 1, k + 1)]);
}

static size_t walk_back(const uint32_t *trail, int64_t d, int64_t i, int64_t j,
			struct nsx_pair *pairs)
{
	size_t n = 0;

	for (; i > 0 || j > 0; d--) {
		int64_t k = i - j, from_k, from_i = 0;

		if (d > 0) {
			from_k = comes_down(trail, d, k) ? k + 1 : k - 1;
			from_i = trail[slot(d - 1, from_k)];
			from_i += from_k < k; /* one further after the edit */
		}
		while (i > from_i)
			pairs[n++] = (struct nsx_pair){(uint32_t)--i,
						       (uint32_t)--j};
		if (d > 0 && comes_down(trail, d, k))
			j--;
		else if (d > 0)
			i--;
	}
	for (size_t a = 0, b = n; a + 1 < b; a++) {
		struct nsx_pair x = pairs[a];

		pairs[a] = pairs[--b];
		pairs[b] = x;
	}
	return n;
}

size_t nsx_align(const uint32_t *x, size_t nx, const uint32_t *y, size_t ny,
		 struct nsx_pair *pairs)
{
	int64_t most = (int64_t)NSX_MIN(nx + ny, (size_t)NSX_MAX_EDITS);
	NSX_AT_EXIT(nsx_free_at) uint32_t *trail = NULL;
	size_t cap = 0;

	for (int64_t d = 0; d <= most; d++) {
		nsx_grow_or_die(&trail, &cap, slot(d, d) + 1, sizeof(*trail));
		for (int64_t k = -d; k <= d; k += 2) {
			int64_t i = 0, j;

			if (d)
				i = comes_down(trail, d, k) ?
					    trail[slot(d - 1, k + 1)] :
					    trail[slot(d - 1, k - 1)] + 1;
			j = i - k;
			/* outside the table nothing is equal */
			while (i < (int64_t)nx && j >= 0 && j < (int64_t)ny && x[i] == y[j])
				i++, j++;
			trail[slot(d, k)] = (uint32_t)i;
			if (i == (int64_t)nx && j == (int64_t)ny)
				return walk_back(trail, d, (int64_t)nx, (int64_t)ny, pairs);
		}
	}
	return 0;
}
