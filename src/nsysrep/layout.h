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
	NSX_LAYOUT_SLACK = 8,	  /* bytes that must be readable after a message */
	NSX_LAYOUTS = 32,	  /* layouts kept at a time                  */
};

struct nsx_msg_layout {
	uint32_t kind, n; /* the message's kind and length; n 0: none        */
	uint32_t nfields, worth; /* worth: matches less misses, within bounds */
	/* By field: its number, the offset of its value, and the size of the value in bytes. */
	uint8_t field[NSX_LAYOUT_FIELDS], at[NSX_LAYOUT_FIELDS], size[NSX_LAYOUT_FIELDS];
	uint64_t own[NSX_LAYOUT_FIELDS]; /* mask of a number's bits; 0: the field has bytes */
	uint64_t has[NSX_MSG_FIELDS / 64];
	uint8_t mask[NSX_LAYOUT_LONGEST + NSX_LAYOUT_SLACK]; /* bits that determine the layout */
	uint8_t is[NSX_LAYOUT_LONGEST + NSX_LAYOUT_SLACK];   /* their values         */
};

/* Begins zeroed. One reader at a time. */
struct nsx_msg_layouts {
	struct nsx_msg_layout of[NSX_LAYOUTS];
};

/* Like nsx_msg_read, but faster if a layout matches. Messages whose fields have the same meaning
 * have the same kind. The bit set `fields` is the same for all messages of a kind; numbers in other
 * fields below 64 may be left out of *m.
 */
bool nsx_layout_read(struct nsx_msg_layouts *l, uint32_t kind, uint64_t fields,
		     struct nsx_msg *m, struct nsx_piece b);

#endif
