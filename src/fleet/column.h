/* column.h - columns of integers as bytes, the form in which a digest keeps them.
 *
 * A value takes seven bits a byte, least first; signed ones are folded so that
 * small ones of either sign are short.  Long columns are compressed as well.
 */
#ifndef NSX_FLEET_COLUMN_H
#define NSX_FLEET_COLUMN_H

#include "base/str.h"

void nsx_put_number(struct nsx_buf *b, uint64_t x);
static inline uint64_t nsx_fold(int64_t x)
{
	return (uint64_t)x << 1 ^ (x < 0 ? UINT64_MAX : 0);
}
static inline int64_t nsx_unfold(uint64_t x)
{
	return (int64_t)(x >> 1 ^ (~(x & 1) + 1));
}

struct nsx_bytes { /* what is left to read */
	const unsigned char *p, *end;
};
/* False: the bytes end inside a number. */
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

/* Bytes, compressed. Owner: the caller, nsx_buf_done. Errors: NSX_E_NOMEM. */
int nsx_squeeze(const void *p, size_t n, struct nsx_buf *ret,
		struct nsx_err *err) NSX_CHECKED;
/* The reverse; what would be longer than most is refused.  Errors: NSX_E_DATA,
 * NSX_E_NOMEM.
 */
int nsx_expand(const void *p, size_t n, size_t most, struct nsx_buf *ret,
	       struct nsx_err *err) NSX_CHECKED;
bool nsx_is_squeezed(const void *p, size_t n);

/* Lengths in buckets that grow by 2 %, which gives any quantile to 1 %; adding
 * two sketches bucket by bucket is the sketch of both samples.
 */
enum { NSX_SKETCH_BUCKETS = 932 }; /* below 1 us, up to 100 s, above        */
struct nsx_sketch {
	uint64_t n[NSX_SKETCH_BUCKETS];
};
void nsx_sketch_add(struct nsx_sketch *s, int64_t ns, uint64_t count);
double nsx_sketch_quantile(const struct nsx_sketch *s, double q); /* ns; 0: empty */
void nsx_sketch_put(const struct nsx_sketch *s, struct nsx_buf *b);
/* Adds what was put. False: the bytes are none. */
bool nsx_sketch_take(struct nsx_sketch *s, const void *p, size_t n);

#endif
