/* pack.c - makes packed columns: one pass for the widths, one for the bytes. */
#include "nsx/pack.h"

/* Values are read eight bytes at a time, whatever their width. */
enum { SLACK = 8 };

struct source {
	const int64_t *start, *end; /* NULL: u32                             */
	const uint32_t *u32;
};

static uint64_t value(const struct source *s, size_t i)
{
	return s->u32 ? s->u32[i] : (uint64_t)(s->end[i] - s->start[i]);
}

static unsigned bits_of(uint64_t x)
{
	unsigned bits = 0;

	while (bits < 64 && x >> bits)
		bits += 8;
	return bits;
}

/* The widths of all blocks; returns the bytes they take. */
static size_t measure(const struct source *s, size_t n,
		      struct nsx_pack_block *blocks)
{
	size_t size = 0;

	for (size_t at = 0; at < n; at += NSX_PACK_BLOCK) {
		struct nsx_pack_block *b = &blocks[at / NSX_PACK_BLOCK];
		size_t until = NSX_MIN(n, at + NSX_PACK_BLOCK);
		uint64_t least = UINT64_MAX, most = 0;
		unsigned bits;

		for (size_t i = at; i < until; i++) {
			least = NSX_MIN(least, value(s, i));
			most = NSX_MAX(most, value(s, i));
		}
		bits = bits_of(most - least);
		*b = (struct nsx_pack_block){least, size << 8 | bits};
		size += (until - at) * bits / 8;
	}
	return size;
}

static int pack(struct nsx_arena *a, const struct source *s, size_t n,
		const char *what, struct nsx_packed *ret, struct nsx_err *err)
{
	size_t nblocks = (n + NSX_PACK_BLOCK - 1) / NSX_PACK_BLOCK;
	struct nsx_pack_block *blocks =
		nsx_arena_try_array(a, nblocks, sizeof(*blocks), what, err);
	unsigned char *bytes;

	if (!blocks)
		return err->rc;
	bytes = nsx_arena_try_array(a, measure(s, n, blocks) + SLACK, 1, what,
				    err);
	if (!bytes)
		return err->rc;
	for (size_t i = 0; i < n; i++) {
		const struct nsx_pack_block *b = &blocks[i / NSX_PACK_BLOCK];
		uint64_t x = htole64(value(s, i) - b->least);
		unsigned width = (b->at & 255) / 8;

		memcpy(bytes + (b->at >> 8) + i % NSX_PACK_BLOCK * width, &x,
		       width);
	}
	*ret = (struct nsx_packed){blocks, bytes};
	return 0;
}

int nsx_pack_lengths(struct nsx_arena *a, const int64_t *start,
		     const int64_t *end, size_t n, const char *what,
		     struct nsx_packed *ret, struct nsx_err *err)
{
	return pack(a, &(struct source){start, end, NULL}, n, what, ret, err);
}

int nsx_pack_u32(struct nsx_arena *a, const uint32_t *v, size_t n,
		 const char *what, struct nsx_packed *ret, struct nsx_err *err)
{
	return pack(a, &(struct source){NULL, NULL, v}, n, what, ret, err);
}
