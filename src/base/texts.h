/* texts.h - many texts in little memory.
 *
 * The first texts are kept plain. A later one that mostly repeats others is packed: it is
 * kept as references to pieces of plain texts and the new bytes between them. Names of
 * generated kernels, with and without parameters, pack well.
 */
#pragma once

#include "base/arena.h"

struct nsx_buf;

enum { NSX_MAX_CHUNKS = 2048, NSX_CHUNK = 1 << 20 };
struct nsx_texts {
	char *chunk[NSX_MAX_CHUNKS]; /* NSX_CHUNK bytes each, never moved */
	uint32_t nchunks, used;	     /* used: bytes of the last chunk        */
	/* For each hash of eight bytes: their place + 1 in a plain text; NULL: nothing was packed
	 * yet.
	 */
	uint32_t *seen;
};

void nsx_texts_done(struct nsx_texts *x);
/* Frees the table that finds pieces. Only plain texts can be added afterwards. */
void nsx_texts_close(struct nsx_texts *x);

/* Adds a text. *ret becomes its place; the lowest bit is 1 if the text is packed. */
int nsx_texts_add(struct nsx_texts *x, const char *text, size_t len,
		  uint32_t *ret, struct nsx_err *err) NSX_CHECKED;
/* Adds a text that must be readable in place. */
int nsx_texts_add_plain(struct nsx_texts *x, const char *text, size_t len,
			uint32_t *ret, struct nsx_err *err) NSX_CHECKED;

static inline bool nsx_texts_is_packed(uint32_t at)
{
	return at & 1;
}
/* The bytes of a text; NUL-terminated if it is plain. */
static inline const char *nsx_texts_bytes(const struct nsx_texts *x, uint32_t at)
{
	return x->chunk[at / 2 / NSX_CHUNK] + at / 2 % NSX_CHUNK;
}
/* Appends a packed text. */
void nsx_texts_unpack(const struct nsx_texts *x, uint32_t at, struct nsx_buf *b);
/* Whether the text at this place equals the given one. */
bool nsx_texts_are(const struct nsx_texts *x, uint32_t at, const char *text, size_t len);
