/* layout.h - makes rows of messages that have the same layout as an earlier message.
 *
 * Most events of a report have the same fields, and numbers of the same lengths, as an event
 * shortly before. Comparing the bits that determine the layout is several times faster than
 * reading field by field.
 */
#pragma once

#include "nsysrep/wire.h"
#include "sqlite/db.h"

enum {
	NSX_LAYOUT_LONGEST = 192, /* bytes of the longest message that is learnt */
	NSX_LAYOUT_SLACK = 64,	  /* bytes that must be readable after a message */
	NSX_LAYOUTS = 64,	  /* layouts kept at a time by length        */
	NSX_LAYOUTS_BESIDE = 128, /* layouts kept by the lengths of all numbers */
	NSX_LAYOUT_CELLS = 24,	  /* most columns of a row that is made from a layout */
	NSX_LAYOUT_CODES = 4,	  /* most values of a row that are not in the message */
	NSX_LAYOUT_WORTH = 16,	  /* worth of a layout that has just matched */
};

/* Where a message has fields: in itself, or in the nested messages that are followed. */
enum nsx_layout_level { NSX_IN_EVENT, NSX_IN_BODY, NSX_IN_PART, NSX_NLEVELS };
struct nsx_layout_place {
	enum { NSX_ABSENT, NSX_NUMBER, NSX_TEXT, NSX_OTHER } kind; /* kind of the value */
	uint8_t at, n; /* offset and size of the value in its message        */
};

struct nsx_event_layout {
	uint64_t id;	/* kind and length of the message; 0: none           */
	uint32_t worth; /* misses after which another layout has its place   */
	/* Messages of this layout become a row of cells, or no row. */
	enum { NSX_ROW_UNKNOWN, NSX_ROW_NONE, NSX_ROW_OF_CELLS } row;
	unsigned table, ncells;
	uint8_t mask[NSX_LAYOUT_LONGEST]; /* bits that determine the layout; 0 after the message */
	uint8_t is[NSX_LAYOUT_LONGEST];	  /* values of the bits in mask      */
	struct nsx_layout_cell {
		uint64_t own; /* mask of a number's bits; 0: no number       */
		uint8_t at;
		enum { NSX_CELL_FIXED, NSX_CELL_LONG, NSX_CELL_TEXT, NSX_CELL_CODE } how;
		struct nsx_val is; /* type and length of the value; its bits are in the message */
	} cell[NSX_LAYOUT_CELLS];
	struct nsx_val code[NSX_LAYOUT_CODES];
};

/* Begins zeroed. One reader at a time. */
struct nsx_layouts {
	struct nsx_event_layout of[NSX_LAYOUTS], beside[NSX_LAYOUTS_BESIDE];
	/* The fields of the message that was learnt last. */
	struct nsx_layout_place place[NSX_NLEVELS][NSX_MSG_FIELDS];
};

/* Which nested messages are followed, and which numbers are the same in all messages of a layout.
 * Field 0: none.
 */
struct nsx_layout_shape {
	enum nsx_layout_level level; /* level of the message itself          */
	unsigned body, part;	     /* fields of the nested messages        */
	unsigned fixed; /* a field of the body with the same number; so is field 1 of an event */
};

typedef uint64_t nsx_words __attribute__((vector_size(16)));

/* The bits in which NSX_LAYOUT_SLACK bytes differ from the layout. */
static inline nsx_words nsx_layout_difference(const struct nsx_event_layout *l, const uint8_t *p,
					  size_t from)
{
	nsx_words differs = {0}, x, mask, is;

#pragma GCC unroll 4
	for (size_t i = from; i < from + NSX_LAYOUT_SLACK; i += sizeof(x)) {
		memcpy(&x, p + i, sizeof(x));
		memcpy(&mask, l->mask + i, sizeof(x));
		memcpy(&is, l->is + i, sizeof(x));
		differs |= (x & mask) ^ is;
	}
	return differs;
}

static inline uint64_t nsx_layout_id(uint32_t kind, struct nsx_piece b)
{
	return (uint64_t)(kind + 1) << 32 | (uint32_t)b.n;
}

/* Whether a message has this layout. Compares more bytes than the message has, so that how many
 * need not be predicted; the mask is 0 there.
 */
static inline bool nsx_layout_matches(const struct nsx_event_layout *l, uint32_t kind,
				      struct nsx_piece b)
{
	nsx_words differs;

	if (l->id != nsx_layout_id(kind, b))
		return false;
	differs = nsx_layout_difference(l, b.p, 0);
	for (size_t i = NSX_LAYOUT_SLACK; i < b.n; i += NSX_LAYOUT_SLACK)
		differs |= nsx_layout_difference(l, b.p, i);
	return !(differs[0] | differs[1]);
}

static inline struct nsx_event_layout *nsx_layout_slot(struct nsx_layouts *all, uint32_t kind,
					     struct nsx_piece b)
{
	return &all->of[(b.n + 37 * kind) % NSX_LAYOUTS];
}

/* Finds a layout that has the same length as a more frequent one. NULL: none. */
struct nsx_event_layout *nsx_layout_find_beside(struct nsx_layouts *all, uint32_t kind,
						struct nsx_piece b);

/* The layout that matches a message; NULL: none. */
static inline struct nsx_event_layout *nsx_layout_find(struct nsx_layouts *all, uint32_t kind,
						 struct nsx_piece b)
{
	struct nsx_event_layout *l = nsx_layout_slot(all, kind, b);

	if (!nsx_layout_matches(l, kind, b))
		return nsx_layout_find_beside(all, kind, b);
	l->worth = NSX_LAYOUT_WORTH;
	return l;
}

/* Learns the layout of a message that none matches. Messages whose fields have the same meaning
 * have the same kind. NULL: this message cannot be learnt.
 */
struct nsx_event_layout *nsx_layout_learn(struct nsx_layouts *l, uint32_t kind, struct nsx_piece b,
					  const struct nsx_layout_shape *shape);

/* The cell of a value: NULL if the field is absent, 0 if the value has a fixed size. */
struct nsx_layout_cell nsx_layout_cell(const struct nsx_layout_place *p);

/* The number in a cell, 7 bits in each byte: ordered as the numbers are. */
static inline uint64_t nsx_layout_bits(const struct nsx_layout_cell *c, const uint8_t *message)
{
	uint64_t x;

	memcpy(&x, message + c->at, sizeof(x));
	return le64toh(x) & c->own;
}

/* The values of a row of cells. */
static inline void nsx_layout_row(const struct nsx_event_layout *l, const uint8_t *message,
				  const struct nsx_val *code, struct nsx_val *v)
{
	for (unsigned i = 0; i < l->ncells; i++) {
		const struct nsx_layout_cell *c = &l->cell[i];
		uint64_t x;

		v[i] = c->is;
		if (c->own) {
			v[i].u.i = (int64_t)nsx_varint_packed(nsx_layout_bits(c, message));
		} else if (c->how == NSX_CELL_TEXT) {
			v[i].u.p = (const char *)message + c->at;
		} else if (c->how == NSX_CELL_CODE) {
			v[i] = code[c->at];
		} else if (c->how == NSX_CELL_LONG) {
			nsx_varint_bytewise(message + c->at, message + (uint32_t)l->id, &x);
			v[i].u.i = (int64_t)x;
		}
	}
}
