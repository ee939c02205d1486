/* texts.h - a great many texts in little memory.
 *
 * The first are kept as they are. Of those after them, one that mostly repeats what
 * stands in others (names of kernels that were generated, with and without their
 * parameters) is packed: kept as pieces of those that are plain and what is new.
 */
#ifndef NSX_TEXTS_H
#define NSX_TEXTS_H

#include "base/arena.h"

struct nsx_buf;

enum { NSX_MAX_CHUNKS = 2048, NSX_CHUNK = 1 << 20 };
struct nsx_texts {
	char *chunk[NSX_MAX_CHUNKS]; /* NSX_CHUNK bytes each: none ever moves */
	uint32_t nchunks, used;	     /* used: of the last                    */
	uint32_t *seen; /* by hash of eight bytes: where they stand in a plain
			   text; NULL: nothing was packed yet                */
};

void nsx_texts_done(struct nsx_texts *x);
/* Only plain ones are added from now on: what finds pieces is given back. */
void nsx_texts_close(struct nsx_texts *x);

/* Where it is kept then: a number whose lowest bit tells whether it is packed. */
int nsx_texts_add(struct nsx_texts *x, const char *text, size_t len,
		  uint32_t *ret, struct nsx_err *err) NSX_CHECKED;
/* The same for a text that is read as it is. */
int nsx_texts_add_plain(struct nsx_texts *x, const char *text, size_t len,
			uint32_t *ret, struct nsx_err *err) NSX_CHECKED;

static inline bool nsx_texts_is_packed(uint32_t at)
{
	return at & 1;
}
/* A plain text, NUL-terminated, or the bytes of a packed one. */
static inline const char *nsx_texts_bytes(const struct nsx_texts *x, uint32_t at)
{
	return x->chunk[at / 2 / NSX_CHUNK] + at / 2 % NSX_CHUNK;
}
/* Appends a packed text. */
void nsx_texts_unpack(const struct nsx_texts *x, uint32_t at, struct nsx_buf *b);
bool nsx_texts_are(const struct nsx_texts *x, uint32_t at, const char *text,
		   size_t len);

#endif
