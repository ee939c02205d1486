/* wire.h - the protobuf wire format: fields of a message, one after the other.
 *
 * Nothing read is trusted: a field that reaches over the end of its message ends
 * the reading, and is_bad tells so.
 */
#ifndef NSX_WIRE_H
#define NSX_WIRE_H

#include <string.h>
#include "base/base.h"

struct nsx_piece { /* of the file, or of what was unpacked from it         */
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
	uint32_t field; /* its number                                        */
	uint64_t n;	/* a varint, or a fixed number of 32 or 64 bits      */
	struct nsx_piece bytes; /* p NULL: the field is a number             */
};

static inline struct nsx_wire nsx_wire_of(struct nsx_piece b)
{
	return (struct nsx_wire){.p = b.p, .end = b.p + b.n};
}

/* A varint at w->p; false: it is cut or has more than 64 bits. */
bool nsx_wire_varint(struct nsx_wire *w, uint64_t *ret);
/* As many bytes as a varint before them says. */
bool nsx_wire_bytes(struct nsx_wire *w, struct nsx_piece *ret);
/* The next field; false: there is none, or w->is_bad. */
bool nsx_wire_next(struct nsx_wire *w);

/* A message whose fields are looked up by number; of a repeated one the last counts.
 * Fields from NSX_MSG_FIELDS on are passed over.
 */
#define NSX_MSG_FIELDS 128
struct nsx_msg {
	uint64_t has[NSX_MSG_FIELDS / 64];
	struct nsx_msg_field {
		uint64_t n;
		struct nsx_piece bytes;
	} v[NSX_MSG_FIELDS];
};

/* False: the message is damaged; what stands before that is there. */
bool nsx_msg_read(struct nsx_msg *m, struct nsx_piece b);

static inline bool nsx_msg_has(const struct nsx_msg *m, unsigned field)
{
	return m->has[field / 64] >> field % 64 & 1;
}
static inline uint64_t nsx_msg_uint(const struct nsx_msg *m, unsigned field)
{
	return nsx_msg_has(m, field) ? m->v[field].n : 0;
}
static inline int64_t nsx_msg_int(const struct nsx_msg *m, unsigned field)
{
	return (int64_t)nsx_msg_uint(m, field);
}
/* Empty where the field is absent or a number. */
static inline struct nsx_piece nsx_msg_bytes(const struct nsx_msg *m,
					     unsigned field)
{
	return nsx_msg_has(m, field) && m->v[field].bytes.p ?
		       m->v[field].bytes : (struct nsx_piece){(const uint8_t *)"", 0};
}

#endif
