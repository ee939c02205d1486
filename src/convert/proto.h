/* proto.h - writes protocol buffers field by field.
 *
 * The length of a nested message is written when it ends. One byte is reserved for it; the few
 * longer messages are moved then.
 */
#pragma once

#include "base/number.h"

enum { NSX_PB_VARINT = 0, NSX_PB_FIXED64 = 1, NSX_PB_BYTES = 2 };

/* The greatest size of a number field in bytes. Callers reserve room for several fields at once. */
enum { NSX_PB_MAX_UINT = 15 };
static inline char *nsx_pb_put_uint(char *p, unsigned field, uint64_t u)
{
	return nsx_write_number(nsx_write_number(p, field << 3 | NSX_PB_VARINT), u);
}

/* Sets the end of b's content. */
static inline void nsx_pb_take(struct nsx_buf *b, const char *end)
{
	b->n = (size_t)(end - b->p);
}

static inline void nsx_pb_uint(struct nsx_buf *b, unsigned field, uint64_t u)
{
	char *p = nsx_buf_room(b, NSX_PB_MAX_UINT);

	nsx_pb_take(b, nsx_pb_put_uint(p, field, u));
}

static inline void nsx_pb_real(struct nsx_buf *b, unsigned field, double d)
{
	char *p = nsx_write_number(nsx_buf_room(b, 20), field << 3 | NSX_PB_FIXED64);

	memcpy(p, &d, sizeof(d)); /* little-endian, like all machines we build for */
	b->n = (size_t)(p + sizeof(d) - b->p);
}

static inline void nsx_pb_bytes(struct nsx_buf *b, unsigned field, const char *s, size_t n)
{
	char *p = nsx_buf_room(b, n + 20);

	p = nsx_write_number(p, field << 3 | NSX_PB_BYTES);
	p = nsx_write_number(p, n);
	if (n)
		memcpy(p, s, n);
	b->n = (size_t)(p + n - b->p);
}

/* Makes room for the length of a completed message. */
static inline void nsx_pb_widen(struct nsx_buf *b, size_t at)
{
	char length[NSX_PB_MAX_UINT];
	size_t n = b->n - at;
	size_t more = (size_t)(nsx_write_number(length, n) - length) - 1;
	char *p = nsx_buf_room(b, more) - n;

	memmove(p + more, p, n);
	memcpy(p - 1, length, more + 1);
	b->n += more;
}

static inline void nsx_pb_text(struct nsx_buf *b, unsigned field, const char *s)
{
	nsx_pb_bytes(b, field, s, strlen(s));
}

/* Begins a message; the result is passed to nsx_pb_end. */
static inline size_t nsx_pb_begin(struct nsx_buf *b, unsigned field)
{
	char *p = nsx_write_number(nsx_buf_room(b, 20), field << 3 | NSX_PB_BYTES);

	b->n = (size_t)(p + 1 - b->p);
	return b->n;
}

static inline void nsx_pb_end(struct nsx_buf *b, size_t at)
{
	size_t n = b->n - at;

	if (n < 0x80)
		b->p[at - 1] = (char)n;
	else
		nsx_pb_widen(b, at);
}
