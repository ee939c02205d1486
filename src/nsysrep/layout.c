/* layout.c - learns and recognizes the layout of messages. */
#include "nsysrep/layout.h"

/* Notes the place of each field, and which bits determine the layout. False: a nested message is
 * damaged or is there twice.
 */
static bool learn_fields(struct nsx_layouts *all, struct nsx_event_layout *l,
			 const uint8_t *message,
			 struct nsx_piece b, const struct nsx_layout_shape *shape,
			 enum nsx_layout_level level)
{
	struct nsx_wire at = nsx_wire_of(b);
	const uint8_t *key = b.p, *p;

	for (; nsx_wire_next(&at); key = at.p) {
		bool is_number = (*key & 7) == NSX_VARINT;
		bool is_fixed = (level == NSX_IN_EVENT && at.field == 1) ||
				(level == NSX_IN_BODY && at.field == shape->fixed);
		unsigned nested = level == NSX_IN_EVENT ? shape->body :
				  level == NSX_IN_BODY ? shape->part : 0;

		if (nested && at.field == nested && all->place[level][nested].kind)
			return false;
		for (p = key; p == key || p < at.bytes.p || (!at.bytes.p && p[-1] >= 128); p++)
			l->mask[p - message] = 0xff;
		if (at.field < NSX_MSG_FIELDS)
			all->place[level][at.field] = (struct nsx_layout_place){
				is_number ? NSX_NUMBER : at.bytes.p ? NSX_TEXT : NSX_OTHER,
				(uint8_t)(p - message), (uint8_t)(at.p - p)};
		if (is_number)
			memset(l->mask + (p - message), is_fixed ? 0xff : 0x80,
			       (size_t)(at.p - p));
		else if (at.bytes.p && nested && at.field == nested &&
			 !learn_fields(all, l, message, at.bytes, shape, level + 1))
			return false;
	}
	return !at.is_bad;
}

/* The place of a message by the highest bit of each byte: it says where numbers end. */
static struct nsx_event_layout *slot_beside(struct nsx_layouts *all, uint32_t kind,
					    struct nsx_piece b)
{
	uint64_t ends = b.n + ((uint64_t)kind << 32), x;

	for (size_t i = 0; i < b.n; i += sizeof(x)) {
		memcpy(&x, b.p + i, sizeof(x));
		x = le64toh(x) & UINT64_C(0x8080808080808080);
		if (b.n - i < sizeof(x))
			x &= (UINT64_C(1) << 8 * (b.n - i)) - 1;
		ends = (ends ^ x) * UINT64_C(0x9e3779b97f4a7c15);
		ends ^= ends >> 32;
	}
	return &all->beside[ends % NSX_LAYOUTS_BESIDE];
}

struct nsx_event_layout *nsx_layout_find_beside(struct nsx_layouts *all, uint32_t kind,
						struct nsx_piece b)
{
	struct nsx_event_layout *often = nsx_layout_slot(all, kind, b), *l;

	if (!b.n || b.n > NSX_LAYOUT_LONGEST)
		return NULL;
	l = slot_beside(all, kind, b);
	if (!nsx_layout_matches(l, kind, b))
		return NULL;
	l->worth = NSX_LAYOUT_WORTH;
	if (often->worth)
		often->worth--;
	else
		*often = *l;
	return l;
}

struct nsx_event_layout *nsx_layout_learn(struct nsx_layouts *all, uint32_t kind,
					  struct nsx_piece b, const struct nsx_layout_shape *shape)
{
	struct nsx_event_layout *l = nsx_layout_slot(all, kind, b);

	if (!b.n || b.n > NSX_LAYOUT_LONGEST)
		return NULL;
	if (l->worth)
		l = slot_beside(all, kind, b);
	l->id = 0;
	l->worth = 0;
	l->row = NSX_ROW_UNKNOWN;
	memset(l->mask, 0, sizeof(l->mask));
	memset(all->place, 0, sizeof(all->place));
	if (!learn_fields(all, l, b.p, b, shape, shape->level))
		return NULL;
	l->id = nsx_layout_id(kind, b);
	for (size_t i = 0; i < sizeof(l->is); i++)
		l->is[i] = i < b.n ? b.p[i] & l->mask[i] : 0;
	return l;
}

struct nsx_layout_cell nsx_layout_cell(const struct nsx_layout_place *p)
{
	struct nsx_layout_cell c = {.at = p->at, .is = nsx_val_int(0)};

	if (p->kind == NSX_ABSENT)
		c.is = (struct nsx_val){NSX_V_NULL, 0, {0}};
	else if (p->kind == NSX_TEXT)
		c.is = (struct nsx_val){NSX_V_TEXT, p->n, {0}};
	if (p->kind == NSX_TEXT)
		c.how = NSX_CELL_TEXT;
	else if (p->kind == NSX_NUMBER && p->n > sizeof(c.own))
		c.how = NSX_CELL_LONG;
	else if (p->kind == NSX_NUMBER)
		c.own = UINT64_C(0x7f7f7f7f7f7f7f7f) >> (64 - 8 * p->n);
	return c;
}
