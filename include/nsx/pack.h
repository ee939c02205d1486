/* pack.h - a column of lengths in few bytes, for columns held in millions.
 *
 * Blocks of 64 values, each value of a block in as many bytes as the greatest
 * of them needs (one to eight): any value can be held, and any one read in a
 * step or two.  Durations of kernels and calls take about three bytes each.
 */
#ifndef NSX_PACK_H
#define NSX_PACK_H

#include <endian.h>
#include <string.h>
#include "nsx/arena.h"

enum { NSX_PACK_BLOCK = 64 };

struct nsx_packed {
	const uint64_t *blocks; /* where it begins << 4 | bytes of a value   */
	const unsigned char *bytes;
};

static inline uint64_t nsx_unpack(const struct nsx_packed *p, size_t i)
{
	uint64_t block = p->blocks[i / NSX_PACK_BLOCK], x;
	unsigned width = block & 15, unused = 64 - 8 * width;

	memcpy(&x, p->bytes + (block >> 4) + i % NSX_PACK_BLOCK * width, 8);
	return le64toh(x) << unused >> unused;
}

/* The lengths of n spans, end >= start.  Owner: the arena. */
int nsx_pack_lengths(struct nsx_arena *a, const int64_t *start,
		     const int64_t *end, size_t n, const char *what,
		     struct nsx_packed *ret, struct nsx_err *err) NSX_CHECKED;

#endif
