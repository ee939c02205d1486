/* keyed.c - sorting by an instant, byte by byte; bytes that are all alike cost
 * nothing.
 */
#include <string.h>
#include "facts/replay/model.h"

static uint64_t bits(const struct keyed *k)
{
	return (uint64_t)k->key ^ UINT64_C(1) << 63;
}

void keyed_sort(struct keyed *v, struct keyed *tmp, size_t n)
{
	struct keyed *from = v, *to = tmp;

	for (unsigned shift = 0; n && shift < 64; shift += 8) {
		size_t at[257] = {0};

		for (size_t i = 0; i < n; i++)
			at[(bits(&from[i]) >> shift & 255) + 1]++;
		if (at[(bits(&from[0]) >> shift & 255) + 1] == n)
			continue;
		for (unsigned k = 0; k < 256; k++)
			at[k + 1] += at[k];
		for (size_t i = 0; i < n; i++)
			to[at[bits(&from[i]) >> shift & 255]++] = from[i];
		from = to;
		to = from == v ? tmp : v;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*v));
}
