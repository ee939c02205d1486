/* keyed.c - instants of one trace, and durations, lie close together: three digits
 * are mostly enough.
 */
#include <string.h>
#include "base/keyed.h"

enum { DIGIT_BITS = 11, NDIGITS = 1 << DIGIT_BITS };

static uint64_t digits(const struct nsx_keyed *k, int64_t least, unsigned shift)
{
	return ((uint64_t)k->key - (uint64_t)least) >> shift & (NDIGITS - 1);
}

void nsx_keyed_sort(struct nsx_keyed *v, struct nsx_keyed *spare, size_t n)
{
	struct nsx_keyed *from = v, *to = spare;
	int64_t least = INT64_MAX, most = INT64_MIN;
	bool sorted = true;

	for (size_t i = 0; i < n; i++) {
		sorted &= !i || v[i - 1].key <= v[i].key;
		least = NSX_MIN(least, v[i].key);
		most = NSX_MAX(most, v[i].key);
	}
	for (unsigned shift = 0;
	     !sorted && shift < 64 &&
	     ((uint64_t)most - (uint64_t)least) >> shift; shift += DIGIT_BITS) {
		size_t at[NDIGITS + 1] = {0};

		for (size_t i = 0; i < n; i++)
			at[digits(&from[i], least, shift) + 1]++;
		if (at[digits(&from[0], least, shift) + 1] == n)
			continue;
		for (unsigned k = 0; k < NDIGITS; k++)
			at[k + 1] += at[k];
		for (size_t i = 0; i < n; i++)
			to[at[digits(&from[i], least, shift)]++] = from[i];
		from = to;
		to = from == v ? spare : v;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*v));
}
