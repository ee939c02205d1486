/* keyed.c - radix sort. Timestamps and durations of one trace lie close together, so three
 * digits are usually enough.
 */
#include "base/keyed.h"

enum { DIGIT_BITS = 11, NDIGITS = 1 << DIGIT_BITS };

/* How to read the keys of an array. This is passed as a constant, so that the compiler makes a
 * version of radix_sort for each kind of element.
 */
struct keys {
	size_t size; /* size of an element, in bytes */
	uint64_t (*key)(const char *element);
	uint64_t least, most;
};

static inline unsigned key_digit_at(const struct keys *k, const char *v, size_t i, unsigned shift)
{
	return (k->key(v + i * k->size) - k->least) >> shift & (NDIGITS - 1);
}

static inline __attribute__((always_inline)) void
radix_sort(char *v, char *spare, size_t n, const struct keys k)
{
	char *from = v, *to = spare;

	for (unsigned shift = 0; shift < 64 && (k.most - k.least) >> shift; shift += DIGIT_BITS) {
		size_t at[NDIGITS + 1] = {0};

		for (size_t i = 0; i < n; i++)
			at[key_digit_at(&k, from, i, shift) + 1]++;
		if (at[key_digit_at(&k, from, 0, shift) + 1] == n)
			continue;
		for (unsigned d = 0; d < NDIGITS; d++)
			at[d + 1] += at[d];
		for (size_t i = 0; i < n; i++)
			memcpy(to + at[key_digit_at(&k, from, i, shift)]++ * k.size,
			       from + i * k.size, k.size);
		from = to;
		to = from == v ? spare : v;
	}
	if (from != v)
		memcpy(v, from, n * k.size);
}

static inline uint64_t key_of_keyed(const char *element)
{
	int64_t key;

	memcpy(&key, element, sizeof(key));
	return (uint64_t)key;
}

void nsx_keyed_sort(struct nsx_keyed *v, struct nsx_keyed *spare, size_t n)
{
	int64_t least = INT64_MAX, most = INT64_MIN;
	bool sorted = true;

	for (size_t i = 0; i < n; i++) {
		sorted &= !i || v[i - 1].key <= v[i].key;
		least = NSX_MIN(least, v[i].key);
		most = NSX_MAX(most, v[i].key);
	}
	if (!sorted)
		radix_sort((char *)v, (char *)spare, n,
			   (struct keys){sizeof(*v), key_of_keyed, (uint64_t)least,
					 (uint64_t)most});
}

static inline uint64_t key_of_brief(const char *element)
{
	uint32_t key;

	memcpy(&key, element, sizeof(key));
	return key;
}

void nsx_brief_sort(struct nsx_brief *v, struct nsx_brief *spare, size_t n)
{
	uint32_t least = UINT32_MAX, most = 0;

	for (size_t i = 0; i < n; i++) {
		least = NSX_MIN(least, v[i].key);
		most = NSX_MAX(most, v[i].key);
	}
	if (least < most)
		radix_sort((char *)v, (char *)spare, n,
			   (struct keys){sizeof(*v), key_of_brief, least, most});
}
