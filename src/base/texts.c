/* texts.c - packs texts by replacing the parts that earlier plain texts contain.
 *
 * A packed text is a list of pieces, ended by a zero byte. A piece begins with a length byte. If it
 * is at most MOST_NEW, it is the number of new bytes that follow. Otherwise the piece refers to a
 * part of a plain text: the byte is MOST_NEW + 1 + (length - WINDOW), and the place of the part
 * follows. LONG_SEEN means that another byte is added to the length.
 */
#include <endian.h>
#include "base/str.h"
#include "base/texts.h"

enum {
	PLAIN = 64 * 1024, /* bytes of the first texts, which stay plain */
	SLOTS = 1 << 15, /* entries of the hash table of windows               */
	PLACE_BYTES = 3, /* bytes of a reference to a place                  */
	END_OF_SEEN = 1 << 24, /* places from here on cannot be referenced   */
	WINDOW = 8, /* least length of a referenced piece                    */
	MOST_NEW = 127, /* most new bytes in a piece                         */
	LONG_SEEN = UINT8_MAX,
	LEAST_LONG = LONG_SEEN - MOST_NEW - 1 + WINDOW, /* least length with another byte */
	MOST_SEEN = LEAST_LONG + UINT8_MAX, /* greatest length of a referenced piece */
	LONGEST = 4096, /* longest text that is packed                       */
	WORD = 8, /* bytes that unpacking copies at a time; it may read and write
		     that many beyond a piece                                */
};
_Static_assert(NSX_CHUNK > 3 * NSX_MAX_TEXT, "any text fits, repaired");

void nsx_texts_done(struct nsx_texts *x)
{
	for (size_t c = 0; c < x->nchunks; c++)
		free(x->chunk[c]);
	free(x->seen);
}

void nsx_texts_close(struct nsx_texts *x)
{
	free(x->seen);
	x->seen = NULL;
}

static const char *bytes_at(const struct nsx_texts *x, uint32_t at)
{
	return x->chunk[at / NSX_CHUNK] + at % NSX_CHUNK;
}

/* Copies bytes and a NUL into a chunk that has room for all of them. */
static int texts_keep(struct nsx_texts *x, const char *bytes, size_t n,
		      uint32_t *ret_at, struct nsx_err *err)
{
	char *p;

	if (!x->nchunks || NSX_CHUNK - x->used <= n) {
		if (x->nchunks == NSX_MAX_CHUNKS)
			return nsx_fail(err, NSX_E_NOMEM, "cannot hold more "
					"than 32 GiB of distinct strings");
		p = nsx_try_alloc(1, NSX_CHUNK + WORD, "string text", err);
		if (!p)
			return err->rc;
		x->chunk[x->nchunks++] = p;
		x->used = 0;
	}
	*ret_at = (x->nchunks - 1) * NSX_CHUNK + x->used;
	memcpy(x->chunk[x->nchunks - 1] + x->used, bytes, n);
	x->used += (uint32_t)n + 1;
	return 0;
}

/* Packing --------------------------------------------------------------------*/

static uint32_t *texts_slot_of(const struct nsx_texts *x, const char *window)
{
	uint64_t w;

	memcpy(&w, window, WINDOW);
	return &x->seen[nsx_hash_u64(w) % SLOTS];
}

/* Enters the windows of n plain bytes into the hash table, so that pieces can refer to them. */
static void index_windows(struct nsx_texts *x, uint32_t at, size_t n)
{
	const char *text = bytes_at(x, at);

	if (at + n > END_OF_SEEN)
		return;
	for (size_t i = 0; i + WINDOW <= n; i++)
		*texts_slot_of(x, text + i) = at + (uint32_t)i + 1;
}

static int start_packing(struct nsx_texts *x, struct nsx_err *err)
{
	x->seen = nsx_try_alloc(SLOTS, sizeof(*x->seen), "string text", err);
	if (!x->seen)
		return err->rc;
	for (uint32_t c = 0; c < x->nchunks; c++)
		index_windows(x, c * NSX_CHUNK, c + 1 < x->nchunks ? NSX_CHUNK : x->used);
	return 0;
}

/* Finds plain bytes equal to the beginning of [p, end); returns their number. */
static size_t find_seen_piece(const struct nsx_texts *x, const char *p,
			      const char *end, uint32_t *ret_at)
{
	const char *like;
	size_t n, most = NSX_MIN((size_t)(end - p), MOST_SEEN);
	uint32_t at;

	if (most < WINDOW || !(at = *texts_slot_of(x, p)))
		return 0;
	*ret_at = --at;
	like = bytes_at(x, at);
	/* This stops at the plain text's NUL, because p has none. */
	n = nsx_same_bytes(p, like, NSX_MIN(most, NSX_CHUNK - at % NSX_CHUNK));
	return n < WINDOW ? 0 : n;
}

/* Copies n bytes without memcpy, which compilers turn into a slow instruction for such a small n.
 */
static char *texts_put(char *to, const char *p, size_t n)
{
	for (; n >= 8; n -= 8, p += 8, to += 8)
		memcpy(to, p, 8);
	while (n--)
		*to++ = *p++;
	return to;
}

static char *put_new_bytes(char *to, const char *p, const char *end)
{
	while (p < end) {
		size_t n = NSX_MIN((size_t)(end - p), MOST_NEW);

		*to++ = (char)n;
		to = texts_put(to, p, n);
		p += n;
	}
	return to;
}

static char *put_reference(char *to, size_t n, uint32_t at)
{
	if (n < LEAST_LONG) {
		*to++ = (char)(MOST_NEW + 1 + n - WINDOW);
	} else {
		*to++ = (char)LONG_SEEN;
		*to++ = (char)(n - LEAST_LONG);
	}
	at = htole32(at);
	memcpy(to, &at, PLACE_BYTES);
	return to + PLACE_BYTES;
}

/* Packs a text and returns the packed length; 0 if that exceeds half of the text's length. */
static size_t texts_pack(const struct nsx_texts *x, const char *text, size_t len,
			 char packed[2 * LONGEST])
{
	const char *from = text, *end = text + len; /* start of the bytes not packed yet */
	char *to = packed;

	for (const char *p = text; p < end;) {
		uint32_t at;
		size_t n = find_seen_piece(x, p, end, &at);

		if (!n) {
			p++;
			continue;
		}
		to = put_new_bytes(to, from, p);
		to = put_reference(to, n, at);
		from = p += n;
	}
	to = put_new_bytes(to, from, end);
	return (size_t)(to - packed) <= len / 2 ? (size_t)(to - packed) : 0;
}

int nsx_texts_add_plain(struct nsx_texts *x, const char *text, size_t len,
			uint32_t *ret, struct nsx_err *err)
{
	int rc = texts_keep(x, text, len, ret, err);

	*ret *= 2;
	return rc;
}

int nsx_texts_add(struct nsx_texts *x, const char *text, size_t len,
		  uint32_t *ret, struct nsx_err *err)
{
	char packed[2 * LONGEST];
	size_t n = 0;
	int rc;

	if (!x->seen && x->nchunks && (x->nchunks > 1 || x->used >= PLAIN) && start_packing(x, err))
		return err->rc;
	if (x->seen && len <= LONGEST)
		n = texts_pack(x, text, len, packed);
	if (!n) {
		rc = nsx_texts_add_plain(x, text, len, ret, err);
		if (!rc && x->seen)
			index_windows(x, *ret / 2, len);
		return rc;
	}
	rc = texts_keep(x, packed, n, ret, err);
	*ret = 2 * *ret + 1;
	return rc;
}

/* Reading packed ones -----------------------------------------------------------*/

/* The next piece of a packed text; false at its end. */
static bool next_piece(const struct nsx_texts *x, const char **p, const char **ret, size_t *ret_n)
{
	size_t n = (unsigned char)*(*p)++;
	uint32_t at;

	if (n <= MOST_NEW) {
		*ret = *p;
		*p += n;
	} else {
		n += WINDOW - (MOST_NEW + 1);
		if (n == LEAST_LONG)
			n += (unsigned char)*(*p)++;
		memcpy(&at, *p, sizeof(at)); /* the next piece begins after it */
		*p += PLACE_BYTES;
		*ret = bytes_at(x, le32toh(at) % END_OF_SEEN);
	}
	*ret_n = n;
	return n > 0;
}

void nsx_texts_unpack(const struct nsx_texts *x, uint32_t at, struct nsx_buf *b)
{
	const char *p = nsx_texts_bytes(x, at), *piece;
	char *to = nsx_buf_room(b, LONGEST + WORD);
	size_t n;

	for (; next_piece(x, &p, &piece, &n); to += n)
		for (size_t i = 0; i < n; i += WORD)
			memcpy(to + i, piece + i, WORD);
	*to = '\0';
	b->n = (size_t)(to - b->p);
}

bool nsx_texts_are(const struct nsx_texts *x, uint32_t at, const char *text, size_t len)
{
	const char *p = nsx_texts_bytes(x, at), *end = text + len, *piece;
	size_t n;

	if (!nsx_texts_is_packed(at))
		return !strncmp(p, text, len) && !p[len];
	while (next_piece(x, &p, &piece, &n)) {
		if ((size_t)(end - text) < n || memcmp(piece, text, n))
			return false;
		text += n;
	}
	return text == end;
}
