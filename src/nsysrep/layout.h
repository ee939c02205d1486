/* layout.h - reads messages that have the fields of an earlier one, each as long as there.
 *
 * Most events of a report have the same fields, and numbers of the same length, as one shortly
 * before. Comparing the bits that say so is several times as fast as reading field by field.
 */
#ifndef NSX_LAYOUT_H
#define NSX_LAYOUT_H

#include "nsysrep/wire.h"

enum {
	NSX_LAYOUT_LONGEST = 128, /* message that is learnt                  */
	NSX_LAYOUT_FIELDS = 28,
	NSX_LAYOUT_SLACK = 8, /* bytes behind a message that must be readable */
	NSX_LAYOUTS = 32,
};

struct nsx_msg_layout {
	uint32_t kind, n; /* the message's kind and length; n 0: none        */
	uint32_t nfields, worth; /* hits less misses, within bounds          */
	uint8_t field[NSX_LAYOUT_FIELDS], at[NSX_LAYOUT_FIELDS], size[NSX_LAYOUT_FIELDS];
	uint64_t own[NSX_LAYOUT_FIELDS]; /* bits of a number; 0: bytes       */
	uint64_t has[NSX_MSG_FIELDS / 64];
	uint8_t mask[NSX_LAYOUT_LONGEST + NSX_LAYOUT_SLACK]; /* bits that all have, */
	uint8_t is[NSX_LAYOUT_LONGEST + NSX_LAYOUT_SLACK];   /* and what they are   */
};

/* Begins zeroed. One reader at a time. */
struct nsx_msg_layouts {
	struct nsx_msg_layout of[NSX_LAYOUTS];
};

/* As nsx_msg_read; kind: the same for messages whose fields mean the same. Numbers below field 64
 * that are not in the bit set `fields`, the same for all of a kind, may be left out.
 */
bool nsx_layout_read(struct nsx_msg_layouts *l, uint32_t kind, uint64_t fields,
		     struct nsx_msg *m, struct nsx_piece b);

#endif
