/* layout.h - reads messages that have the same layout as an earlier message.
 *
 * Most events of a report have the same fields, and numbers of the same lengths, as an event
 * shortly before. Comparing the bits that determine the layout is several times faster than
 * reading field by field.
 */
#ifndef NSX_LAYOUT_H
#define NSX_LAYOUT_H

#include "nsysrep/wire.h"

enum {
	NSX_LAYOUT_LONGEST = 128, /* bytes of the longest message that is learnt */
	NSX_LAYOUT_FIELDS = 28,	  /* most fields of a layout                 */
	NSX_LAYOUT_SLACK = 64,	  /* bytes that must be readable after a message */
	NSX_LAYOUTS = 64,	  /* layouts kept at a time                  */
	NSX_LAYOUT_CELLS = 16,	  /* most columns of a row that is made from a layout */
};

struct nsx_msg_layout {
	uint32_t kind, n; /* the message's kind and length; n 0: none        */
	uint32_t nfields, worth; /* worth: matches less misses, within bounds */
	/* By field: its number, the offset of its value, and the size of the value in bytes. */
	uint8_t field[NSX_LAYOUT_FIELDS], at[NSX_LAYOUT_FIELDS], size[NSX_LAYOUT_FIELDS];
	uint64_t own[NSX_LAYOUT_FIELDS]; /* mask of a number's bits; 0: the field has bytes */
	uint64_t has[NSX_MSG_FIELDS / 64];
	/* Set by the user of the layouts: what the messages of this layout become. */
	enum { NSX_ROW_UNTRIED, NSX_ROW_NONE, NSX_ROW_OF_CELLS } row;
	unsigned table, ncells;
	struct nsx_layout_cell { /* a number in the message; own 0: none, or 0 */
		uint64_t own;
		uint8_t at;
		bool is_null;
	} cell[NSX_LAYOUT_CELLS];
	uint8_t mask[NSX_LAYOUT_LONGEST]; /* bits that determine the layout; 0 after the message */
	uint8_t is[NSX_LAYOUT_LONGEST];	  /* their values                    */
};

/* Begins zeroed. One reader at a time. */
struct nsx_msg_layouts {
	struct nsx_msg_layout of[NSX_LAYOUTS];
};

/* Like nsx_msg_read, but faster if a layout matches. Messages whose fields have the same meaning
 * have the same kind. The bit sets `fields` and `fixed` are the same for all messages of a kind.
 * Numbers in fields below 64 that are not in `fields` may be left out of *m; those in `fixed` are
 * the same in all messages of a layout.
 */
bool nsx_layout_read(struct nsx_msg_layouts *l, uint32_t kind, uint64_t fields, uint64_t fixed,
		     struct nsx_msg *m, struct nsx_piece b);
/* The layout that matches a message; NULL: none. */
struct nsx_msg_layout *nsx_layout_find(struct nsx_msg_layouts *l, uint32_t kind,
				       struct nsx_piece b);
/* The cell of a field, which must not be bytes. */
struct nsx_layout_cell nsx_layout_cell(const struct nsx_msg_layout *l, unsigned field);
static inline int64_t nsx_cell_number(struct nsx_layout_cell c, const uint8_t *message)
{
	uint64_t x;

	memcpy(&x, message + c.at, sizeof(x));
	return (int64_t)nsx_varint_packed(le64toh(x) & c.own);
}

#endif
