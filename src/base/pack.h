/* pack.h - a column of integers in few bytes, for columns with millions of rows.
 *
 * Values are stored in blocks of 128. A value is stored as its distance from the least value of
 * its block, in as many bytes (0 to 8) as the greatest distance of the block needs. Starts and
 * durations of kernels and calls take about three bytes each. Longer blocks would have greater
 * distances. Any value can be stored, and values can be read in any order.
 */
#pragma once

#include <endian.h>
#include "base/arena.h"

enum { NSX_PACK_BLOCK = 128 };

struct nsx_packed {
	const struct nsx_pack_block {
		int64_t least;
		uint64_t at; /* offset of the block's first byte << 8 | bytes per value */
	} *blocks;
	const unsigned char *bytes;
};

/* Masks for the low 0 to 8 bytes. Shifts by a variable number take a third longer. */
extern const uint64_t nsx_pack_mask[9];

/* The distance of value i from the least value of its block. */
static inline uint64_t nsx_pack_distance(const struct nsx_packed *p,
					 const struct nsx_pack_block *b, size_t i)
{
	unsigned width = b->at & 255;
	uint64_t x;

	memcpy(&x, p->bytes + (b->at >> 8) + i % NSX_PACK_BLOCK * width, 8);
	return le64toh(x) & nsx_pack_mask[width];
}

static inline int64_t nsx_unpack(const struct nsx_packed *p, size_t i)
{
	const struct nsx_pack_block *b = &p->blocks[i / NSX_PACK_BLOCK];

	return (int64_t)((uint64_t)b->least + nsx_pack_distance(p, b, i));
}

/* Returns value i of a column packed by nsx_pack_index. */
static inline uint32_t nsx_unpack_index(const struct nsx_packed *p, size_t i)
{
	const struct nsx_pack_block *b = &p->blocks[i / NSX_PACK_BLOCK];
	uint64_t x = nsx_pack_distance(p, b, i);

	return x == nsx_pack_mask[b->at & 255] ? NSX_NONE : (uint32_t)((uint64_t)b->least + x);
}

/* Packs n values, or n spans as starts and lengths. Owner: the arena. */
int nsx_pack_i64(struct nsx_arena *a, const int64_t *v, size_t n,
		 const char *what, struct nsx_packed *ret, struct nsx_err *err) NSX_CHECKED;
int nsx_pack_lengths(struct nsx_arena *a, const int64_t *start,
		     const int64_t *end, size_t n, const char *what,
		     struct nsx_packed *ret, struct nsx_err *err) NSX_CHECKED;
/* Packs v[0], v[2], ... and the difference of each from the element after it. */
int nsx_pack_pairs(struct nsx_arena *a, const int64_t *v, size_t n,
		   const char *what, struct nsx_packed *first,
		   struct nsx_packed *length, struct nsx_err *err) NSX_CHECKED;
int nsx_pack_u32(struct nsx_arena *a, const uint32_t *v, size_t n,
		 const char *what, struct nsx_packed *ret, struct nsx_err *err) NSX_CHECKED;
/* Packs indices. NSX_NONE does not widen its block: it is stored as the greatest value. */
int nsx_pack_index(struct nsx_arena *a, const uint32_t *v, size_t n,
		   const char *what, struct nsx_packed *ret, struct nsx_err *err) NSX_CHECKED;
/* Frees a column before its arena is freed. */
void nsx_pack_drop(struct nsx_arena *a, struct nsx_packed *p);
