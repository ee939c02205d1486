/* pack.c - makes packed columns: one pass for the widths, one for the bytes. */
#include "nsx/pack.h"

/* Values are read eight bytes at a time, whatever their width. */
enum { SLACK = 8 };

static unsigned width_of(uint64_t x)
{
	unsigned width = 1;

	while (width < 8 && x >> 8 * width)
		width++;
	return width;
}

int nsx_pack_lengths(struct nsx_arena *a, const int64_t *start,
		     const int64_t *end, size_t n, const char *what,
		     struct nsx_packed *ret, struct nsx_err *err)
{
	size_t nblocks = (n + NSX_PACK_BLOCK - 1) / NSX_PACK_BLOCK, size = 0;
	uint64_t *blocks =
	    nsx_arena_try_array(a, nblocks, sizeof(*blocks), what, err);
	unsigned char *bytes;

	if (!blocks)
		return err->rc;
	for (size_t b = 0; b < nblocks; b++) {
		size_t at = b * NSX_PACK_BLOCK;
		size_t until = NSX_MIN(n, at + NSX_PACK_BLOCK);
		uint64_t all = 0;

		for (size_t i = at; i < until; i++)
			all |= (uint64_t)(end[i] - start[i]);
		blocks[b] = size << 4 | width_of(all);
		size += (until - at) * width_of(all);
	}
	bytes = nsx_arena_try_array(a, size + SLACK, 1, what, err);
	if (!bytes)
		return err->rc;
	for (size_t i = 0; i < n; i++) {
		uint64_t block = blocks[i / NSX_PACK_BLOCK];
		uint64_t x = htole64((uint64_t)(end[i] - start[i]));
		unsigned width = block & 15;

		memcpy(bytes + (block >> 4) + i % NSX_PACK_BLOCK * width, &x,
		       width);
	}
	*ret = (struct nsx_packed){blocks, bytes};
	return 0;
}
