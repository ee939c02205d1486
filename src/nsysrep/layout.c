/* layout.c - learns and recognizes the layout of messages. */
#include "nsysrep/layout.h"

/* Consecutive misses after which a layout that often matched makes room for another. */
enum { MOST_WORTH = 16 };

static inline uint64_t layout_word_at(const uint8_t *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
	return le64toh(x);
}

/* Learns the layout of a message. False: it has a number of more than eight bytes, or fields that
 * do not fit the layout.
 */
static bool learn_layout(struct nsx_msg_layout *l, uint32_t kind, uint64_t fields,
			 uint64_t fixed, struct nsx_piece b)
{
	struct nsx_wire at = nsx_wire_of(b);
	const uint8_t *key = b.p, *p;

	l->kind = kind;
	l->nfields = 0;
	l->row = NSX_ROW_UNTRIED;
	memset(l->has, 0, sizeof(l->has));
	memset(l->mask, 0, sizeof(l->mask));
	memset(l->is, 0, sizeof(l->is));
	for (; nsx_wire_next(&at); key = at.p) {
		bool is_number = !at.bytes.p;

		for (p = key; p == key || (p < at.bytes.p) || (is_number && p[-1] >= 128); p++)
			l->mask[p - b.p] = 0xff;
		if (at.field >= NSX_MSG_FIELDS || l->nfields == NSX_LAYOUT_FIELDS ||
		    (is_number && ((*key & 7) != NSX_VARINT || at.p - p > 8)))
			return false;
		if (is_number && at.field < 64 && !(fields >> at.field & 1)) {
			for (; p < at.p; p++)
				l->mask[p - b.p] = 0x80;
			continue;
		}
		l->field[l->nfields] = (uint8_t)at.field;
		l->at[l->nfields] = (uint8_t)(p - b.p);
		l->size[l->nfields] = (uint8_t)(at.p - p);
		l->own[l->nfields++] = !is_number ? 0 :
			UINT64_C(0x7f7f7f7f7f7f7f7f) >> (64 - 8 * (at.p - p));
		l->has[at.field / 64] |= UINT64_C(1) << at.field % 64;
		for (; is_number && p < at.p; p++)
			l->mask[p - b.p] = at.field < 64 && fixed >> at.field & 1 ? 0xff : 0x80;
	}
	for (size_t i = 0; i < b.n; i++)
		l->is[i] = b.p[i] & l->mask[i];
	return true;
}

typedef uint64_t nsx_words __attribute__((vector_size(16)));

/* The bits in which NSX_LAYOUT_SLACK bytes differ from the layout. */
static inline nsx_words layout_difference(const struct nsx_msg_layout *l, const uint8_t *p,
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

/* Whether a message has this layout. Compares more bytes than the message has, so that how many
 * need not be predicted; the mask is 0 there.
 */
static inline bool matches_layout(const struct nsx_msg_layout *l, uint32_t kind, struct nsx_piece b)
{
	nsx_words differs;

	if (l->n != b.n || l->kind != kind)
		return false;
	differs = layout_difference(l, b.p, 0);
	if (b.n > NSX_LAYOUT_SLACK)
		differs |= layout_difference(l, b.p, NSX_LAYOUT_SLACK);
	return !(differs[0] | differs[1]);
}

static inline struct nsx_msg_layout *layout_slot(struct nsx_msg_layouts *all, uint32_t kind,
						 struct nsx_piece b)
{
	return &all->of[(b.n + NSX_LAYOUTS / 2 * kind) % NSX_LAYOUTS];
}

struct nsx_msg_layout *nsx_layout_find(struct nsx_msg_layouts *all, uint32_t kind,
				       struct nsx_piece b)
{
	struct nsx_msg_layout *l = layout_slot(all, kind, b);

	if (!b.n || !matches_layout(l, kind, b))
		return NULL;
	l->worth += l->worth < MOST_WORTH;
	return l;
}

struct nsx_layout_cell nsx_layout_cell(const struct nsx_msg_layout *l, unsigned field)
{
	struct nsx_layout_cell ret = {.is_null = true};

	for (uint32_t i = 0; i < l->nfields; i++)
		if (l->field[i] == field)
			ret = (struct nsx_layout_cell){l->own[i], l->at[i], false};
	return ret;
}

bool nsx_layout_read(struct nsx_msg_layouts *all, uint32_t kind, uint64_t fields,
		     uint64_t fixed, struct nsx_msg *m, struct nsx_piece b)
{
	struct nsx_msg_layout *l = nsx_layout_find(all, kind, b);

	if (!l) {
		bool is_whole = nsx_msg_read(m, b);

		l = layout_slot(all, kind, b);
		if (!b.n || b.n > NSX_LAYOUT_LONGEST)
			return is_whole;
		if (l->worth)
			l->worth--;
		else
			l->n = is_whole && learn_layout(l, kind, fields, fixed, b) ?
				       (uint32_t)b.n : 0;
		return is_whole;
	}
	memcpy(m->has, l->has, sizeof(m->has));
	for (uint32_t i = 0; i < l->nfields; i++) {
		const uint8_t *p = b.p + l->at[i];

		m->v[l->field[i]] = l->own[i] ?
			(struct nsx_msg_field){nsx_varint_packed(layout_word_at(p) & l->own[i]),
					       NULL} :
			(struct nsx_msg_field){l->size[i], p};
	}
	return true;
}
