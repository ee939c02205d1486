/* keyed.c - radix sort. Timestamps and durations of one trace lie close together, so three
 * digits are usually enough.
 */
#include "base/keyed.h"

enum { DIGIT_BITS = 11, NDIGITS = 1 << DIGIT_BITS };

/* Gives an element's key as a number with the same order. */
typedef uint64_t (*radix_key)(const char *element);

static inline unsigned key_digit_at(radix_key key, const char *element, uint64_t least,
				    unsigned shift)
{
	return (key(element) - least) >> shift & (NDIGITS - 1);
}

/* Sorts elements of `size` bytes. key is a constant, so that the compiler makes a version of this
 * function for each kind of element.
 */
static inline __attribute__((always_inline)) void
radix_sort(char *v, char *spare, size_t n, size_t size, radix_key key)
{
	char *from = v, *to = spare;
	uint64_t least = UINT64_MAX, most = 0;
	bool sorted = true;

	for (size_t i = 0; i < n; i++) {
		uint64_t x = key(v + i * size);

		sorted &= x >= most;
		least = NSX_MIN(least, x);
		most = NSX_MAX(most, x);
	}
	for (unsigned shift = 0; !sorted && shift < 64 && (most - least) >> shift;
	     shift += DIGIT_BITS) {
		size_t at[NDIGITS + 1] = {0};

		for (size_t i = 0; i < n; i++)
			at[key_digit_at(key, from + i * size, least, shift) + 1]++;
		if (at[key_digit_at(key, from, least, shift) + 1] == n)
			continue;
		for (unsigned d = 0; d < NDIGITS; d++)
			at[d + 1] += at[d];
		for (size_t i = 0; i < n; i++)
			memcpy(to + at[key_digit_at(key, from + i * size, least, shift)]++ * size,
			       from + i * size, size);
		from = to;
		to = from == v ? spare : v;
	}
	if (from != v)
		memcpy(v, from, n * size);
}

static inline uint64_t key_of_keyed(const char *element)
{
	int64_t key;

	memcpy(&key, element, sizeof(key));
	return (uint64_t)key ^ UINT64_C(1) << 63;
}

void nsx_keyed_sort(struct nsx_keyed *v, struct nsx_keyed *spare, size_t n)
{
	radix_sort((char *)v, (char *)spare, n, sizeof(*v), key_of_keyed);
}

static inline uint64_t key_of_brief(const char *element)
{
	uint32_t key;

	memcpy(&key, element, sizeof(key));
	return key;
}

void nsx_brief_sort(struct nsx_brief *v, struct nsx_brief *spare, size_t n)
{
	radix_sort((char *)v, (char *)spare, n, sizeof(*v), key_of_brief);
}
