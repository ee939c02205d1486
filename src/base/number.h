/* number.h - variable-length integers: seven bits a byte, least significant first, as in protocol
 * buffers. Signed integers are zigzag-encoded, so that small negative ones are short, too.
 */
#pragma once

#include "base/str.h"

/* Writes x at p, which has room for NSX_NUMBER_BYTES. Returns the end. */
enum { NSX_NUMBER_BYTES = 10 };
static inline char *nsx_write_number(char *p, uint64_t x)
{
	for (; x >= 128; x >>= 7)
		*p++ = (char)(x | 128);
	*p++ = (char)x;
	return p;
}
static inline void nsx_put_number(struct nsx_buf *b, uint64_t x)
{
	char *end = nsx_write_number(nsx_buf_room(b, NSX_NUMBER_BYTES), x);

	b->n = (size_t)(end - b->p);
}

/* Zigzag encoding: 0, -1, 1, -2, ... become 0, 1, 2, 3, ... */
static inline uint64_t nsx_fold(int64_t x)
{
	return (uint64_t)x << 1 ^ (x < 0 ? UINT64_MAX : 0);
}
static inline int64_t nsx_unfold(uint64_t x)
{
	return (int64_t)(x >> 1 ^ (~(x & 1) + 1));
}

struct nsx_bytes { /* the bytes left to read */
	const unsigned char *p, *end;
};
/* False if the bytes end inside a number. */
static inline bool nsx_get_number(struct nsx_bytes *b, uint64_t *ret)
{
	uint64_t x = 0;

	for (unsigned bits = 0; b->p < b->end && bits < 64; bits += 7) {
		unsigned char c = *b->p++;

		x |= (uint64_t)(c & 127) << bits;
		if (c < 128) {
			*ret = x;
			return true;
		}
	}
	return false;
}
