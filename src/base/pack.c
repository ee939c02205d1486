/* pack.c - packs columns: one pass for the widths, one for the bytes. */
#include "base/pack.h"

/* Values are written eight bytes at a time, whatever their width. The bytes beyond the width are
 * zero, and the next value overwrites them.
 */
enum { SLACK = 8 };

const uint64_t nsx_pack_mask[9] = {
	0, UINT64_MAX >> 56, UINT64_MAX >> 48, UINT64_MAX >> 40,
	UINT64_MAX >> 32, UINT64_MAX >> 24, UINT64_MAX >> 16, UINT64_MAX >> 8,
	UINT64_MAX};

struct source {
	const int64_t *minus, *i64; /* a value is i64 less minus; minus NULL: i64 alone */
	const uint32_t *u32;	    /* the values if i64 is NULL             */
	size_t step; /* distance between elements of i64 and minus           */
	bool is_index; /* NSX_NONE is written with all bits of the width set */
};

/* Reads the values [at, at + n) of a block. */
static void read_block(const struct source *s, size_t at, size_t n, int64_t v[NSX_PACK_BLOCK])
{
	if (!s->i64)
		for (size_t i = 0; i < n; i++)
			v[i] = s->u32[at + i];
	else if (!s->minus)
		for (size_t i = 0; i < n; i++)
			v[i] = s->i64[(at + i) * s->step];
	else
		for (size_t i = 0; i < n; i++)
			v[i] = s->i64[(at + i) * s->step] - s->minus[(at + i) * s->step];
}

/* Moves values other than NSX_NONE to the front; returns their number. */
static size_t remove_none_values(int64_t *v, size_t n)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		v[known] = v[i];
		known += v[i] != NSX_NONE;
	}
	return known;
}

/* Computes the widths of all blocks; returns their size in bytes. */
static size_t pack_measure(const struct source *s, size_t n, struct nsx_pack_block *blocks)
{
	size_t size = 0;

	for (size_t at = 0; at < n; at += NSX_PACK_BLOCK) {
		struct nsx_pack_block *b = &blocks[at / NSX_PACK_BLOCK];
		size_t m = NSX_MIN(n - at, (size_t)NSX_PACK_BLOCK);
		int64_t v[NSX_PACK_BLOCK], least, most;
		unsigned width = 0;
		size_t known = m;

		read_block(s, at, m, v);
		if (s->is_index)
			known = remove_none_values(v, m);
		least = most = known ? v[0] : 0;
		for (size_t i = 0; i < known; i++) {
			least = NSX_MIN(least, v[i]);
			most = NSX_MAX(most, v[i]);
		}
		while (known && ((uint64_t)most - (uint64_t)least + s->is_index) &
				~nsx_pack_mask[width])
			width++;
		*b = (struct nsx_pack_block){least, size << 8 | width};
		size += m * width;
	}
	return size;
}

static void pack_write_block(const struct source *s, size_t at, size_t n,
			     const struct nsx_pack_block *b, unsigned char *bytes)
{
	unsigned width = b->at & 255;
	int64_t v[NSX_PACK_BLOCK];

	read_block(s, at, n, v);
	bytes += b->at >> 8;
	for (size_t i = 0; i < n; i++, bytes += width) {
		bool none = s->is_index && v[i] == NSX_NONE;
		uint64_t x = none ? nsx_pack_mask[width] : (uint64_t)v[i] - (uint64_t)b->least;

		x = htole64(x);
		memcpy(bytes, &x, 8);
	}
}

static int pack_source(struct nsx_arena *a, const struct source *s, size_t n,
		       const char *what, struct nsx_packed *ret, struct nsx_err *err)
{
	size_t nblocks = (n + NSX_PACK_BLOCK - 1) / NSX_PACK_BLOCK;
	struct nsx_pack_block *blocks = nsx_arena_try_array(a, nblocks, sizeof(*blocks), what, err);
	unsigned char *bytes;

	if (!blocks)
		return err->rc;
	if (!nsx_new_array(bytes, a, pack_measure(s, n, blocks) + SLACK, what, err))
		return err->rc;
	for (size_t at = 0; at < n; at += NSX_PACK_BLOCK)
		pack_write_block(s, at, NSX_MIN(n - at, (size_t)NSX_PACK_BLOCK),
				 &blocks[at / NSX_PACK_BLOCK], bytes);
	*ret = (struct nsx_packed){blocks, bytes};
	return 0;
}

int nsx_pack_i64(struct nsx_arena *a, const int64_t *v, size_t n,
		 const char *what, struct nsx_packed *ret, struct nsx_err *err)
{
	return pack_source(a, &(struct source){.i64 = v, .step = 1}, n, what, ret, err);
}

int nsx_pack_lengths(struct nsx_arena *a, const int64_t *start,
		     const int64_t *end, size_t n, const char *what,
		     struct nsx_packed *ret, struct nsx_err *err)
{
	return pack_source(a, &(struct source){.minus = start, .i64 = end, .step = 1},
			   n, what, ret, err);
}

int nsx_pack_pairs(struct nsx_arena *a, const int64_t *v, size_t n,
		   const char *what, struct nsx_packed *first,
		   struct nsx_packed *length, struct nsx_err *err)
{
	struct source starts = {.i64 = v, .step = 2};
	struct source lengths = {.minus = v, .i64 = v + 1, .step = 2};

	if (pack_source(a, &starts, n, what, first, err))
		return err->rc;
	return pack_source(a, &lengths, n, what, length, err);
}

int nsx_pack_u32(struct nsx_arena *a, const uint32_t *v, size_t n,
		 const char *what, struct nsx_packed *ret, struct nsx_err *err)
{
	return pack_source(a, &(struct source){.u32 = v}, n, what, ret, err);
}

int nsx_pack_index(struct nsx_arena *a, const uint32_t *v, size_t n,
		   const char *what, struct nsx_packed *ret, struct nsx_err *err)
{
	return pack_source(a, &(struct source){.u32 = v, .is_index = true}, n, what, ret, err);
}

void nsx_pack_drop(struct nsx_arena *a, struct nsx_packed *p)
{
	nsx_arena_drop(a, p->blocks);
	nsx_arena_drop(a, p->bytes);
	*p = (struct nsx_packed){NULL, NULL};
}
