/* wire.h - the protobuf wire format: reads the fields of a message one by one.
 *
 * Input is not trusted: a field that extends beyond its message ends the reading and sets is_bad.
 */
#pragma once

#include <endian.h>
#include "base/base.h"

struct nsx_piece { /* bytes of the file, or bytes unpacked from it         */
	const uint8_t *p;
	size_t n;
};

static inline bool nsx_piece_is(struct nsx_piece b, const char *text)
{
	return b.n == strlen(text) && !memcmp(b.p, text, b.n);
}

struct nsx_wire {
	const uint8_t *p, *end;
	bool is_bad;
	uint32_t field; /* field number                                      */
	uint64_t n;	/* the number, if the field is one                   */
	struct nsx_piece bytes; /* p NULL: the field is a number             */
};

static inline struct nsx_wire nsx_wire_of(struct nsx_piece b)
{
	return (struct nsx_wire){.p = b.p, .end = b.n ? b.p + b.n : b.p};
}

enum { NSX_VARINT = 0, NSX_FIXED_64 = 1, NSX_BYTES = 2, NSX_FIXED_32 = 5 };

/* Reads a varint byte by byte; returns the position after it; NULL: truncated, or too long. */
const uint8_t *nsx_varint_bytewise(const uint8_t *p, const uint8_t *end, uint64_t *ret);

/* Joins the low seven bits of each byte of x, whose highest bits are 0, into one number: pairs of
 * bytes, then pairs of these, then the two halves.
 */
static inline uint64_t nsx_varint_packed(uint64_t x)
{
	uint64_t high;

	x -= (x & UINT64_C(0x7f007f007f007f00)) >> 1;
	high = x & UINT64_C(0x3fff00003fff0000);
	x = x - high + (high >> 2);
	return (x & UINT32_MAX) + (x >> 32 << 28);
}

/* Reads a varint and returns the position after it; NULL: truncated, or more than 64 bits. Most
 * varints take one byte. For longer ones eight bytes are searched for the end at once, because
 * reading a report spends most of its time here.
 */
static inline const uint8_t *nsx_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret)
{
	uint64_t x, ends;

	if (p < end && *p < 128) {
		*ret = *p;
		return p + 1;
	}
	if (end - p < 8)
		return nsx_varint_bytewise(p, end, ret);
	memcpy(&x, p, sizeof(x));
	x = le64toh(x);
	ends = ~x & UINT64_C(0x8080808080808080);
	if (!ends)
		return nsx_varint_bytewise(p, end, ret);
	x &= (ends ^ (ends - 1)) & UINT64_C(0x7f7f7f7f7f7f7f7f);
	*ret = nsx_varint_packed(x);
	return p + (__builtin_ctzll(ends) >> 3) + 1;
}

/* Reads a number of `size` bytes and returns the position after it; NULL: truncated. */
static inline const uint8_t *nsx_wire_fixed(const uint8_t *p, const uint8_t *end, size_t size,
				 uint64_t *ret)
{
	*ret = 0;
	if ((size_t)(end - p) < size)
		return NULL;
	for (size_t i = 0; i < size; i++)
		*ret |= (uint64_t)p[i] << 8 * i;
	return p + size;
}

/* Reads a field's value of the given kind and returns the position after it; NULL: damaged. *n is
 * the number, or the length of *bytes.
 */
static inline const uint8_t *nsx_wire_value(const uint8_t *p, const uint8_t *end,
					unsigned kind, uint64_t *n, const uint8_t **bytes)
{
	*bytes = NULL;
	if (kind == NSX_VARINT)
		return nsx_varint(p, end, n);
	if (kind == NSX_BYTES) {
		p = nsx_varint(p, end, n);
		if (!p || *n > (size_t)(end - p))
			return NULL;
		*bytes = p;
		return p + *n;
	}
	return kind == NSX_FIXED_64 ? nsx_wire_fixed(p, end, 8, n) :
	       kind == NSX_FIXED_32 ? nsx_wire_fixed(p, end, 4, n) : NULL;
}

/* Reads a varint at w->p; false: truncated, or more than 64 bits. */
static inline bool nsx_wire_varint(struct nsx_wire *w, uint64_t *ret)
{
	const uint8_t *p = nsx_varint(w->p, w->end, ret);

	w->is_bad |= !p;
	w->p = p ? p : w->end;
	return p;
}

/* Reads a length as varint, then that many bytes. */
bool nsx_wire_bytes(struct nsx_wire *w, struct nsx_piece *ret);

/* Advances to the next field. False: the message ends, or is damaged (w->is_bad). */
static inline bool nsx_wire_next(struct nsx_wire *w)
{
	const uint8_t *p = w->p, *bytes;
	uint64_t key;

	if (w->is_bad || p >= w->end)
		return false;
	p = nsx_varint(p, w->end, &key);
	if (p)
		p = nsx_wire_value(p, w->end, key & 7, &w->n, &bytes);
	if (!p || key < 8) { /* no field has the number 0 */
		w->is_bad = true;
		return false;
	}
	w->bytes = (struct nsx_piece){bytes, (size_t)w->n};
	w->n = bytes ? 0 : w->n;
	w->field = (uint32_t)NSX_MIN(key >> 3, UINT32_MAX);
	w->p = p;
	return true;
}

/* A message with fields by number; of a repeated field the last counts. Fields from NSX_MSG_FIELDS
 * on are ignored.
 */
#define NSX_MSG_FIELDS 128
struct nsx_msg {
	uint64_t has[NSX_MSG_FIELDS / 64];
	struct nsx_msg_field {
		uint64_t n;	      /* number or length                    */
		const uint8_t *bytes; /* NULL: a number                       */
	} v[NSX_MSG_FIELDS];
};

/* False: the message is damaged; fields before the damage are set. */
bool nsx_msg_read(struct nsx_msg *m, struct nsx_piece b);
/* Reads a message whose damage is said in general: sets *is_garbled if it is damaged. */
bool nsx_msg_sound(struct nsx_msg *m, struct nsx_piece b, bool *is_garbled);
/* Advances to the next sound message of a field (0: of any field), and reads it. Sets *is_garbled
 * if one was damaged.
 */
bool nsx_wire_message(struct nsx_wire *w, unsigned field, struct nsx_msg *m, bool *is_garbled);
static inline bool nsx_msg_has(const struct nsx_msg *m, unsigned field)
{
	return m->has[field / 64] >> field % 64 & 1;
}
static inline uint64_t nsx_msg_uint(const struct nsx_msg *m, unsigned field)
{
	return nsx_msg_has(m, field) && !m->v[field].bytes ? m->v[field].n : 0;
}
static inline int64_t nsx_msg_int(const struct nsx_msg *m, unsigned field)
{
	return (int64_t)nsx_msg_uint(m, field);
}
/* Empty if the field is absent or a number. */
static inline struct nsx_piece nsx_msg_bytes(const struct nsx_msg *m, unsigned field)
{
	return nsx_msg_has(m, field) && m->v[field].bytes ?
		       (struct nsx_piece){m->v[field].bytes, (size_t)m->v[field].n} :
		       (struct nsx_piece){(const uint8_t *)"", 0};
}
