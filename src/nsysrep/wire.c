/* wire.c - reads varints, lengths and fixed numbers, each checked against the end. */
#include "nsysrep/wire.h"

const uint8_t *nsx_varint_bytewise(const uint8_t *p, const uint8_t *end, uint64_t *ret)
{
	uint64_t n = 0;

	for (unsigned shift = 0; shift < 70 && p < end; shift += 7) {
		uint8_t byte = *p++;

		n |= shift < 64 ? (uint64_t)(byte & 127) << shift : 0;
		if (byte < 128) {
			*ret = n;
			return p;
		}
	}
	return NULL;
}

bool nsx_wire_bytes(struct nsx_wire *w, struct nsx_piece *ret)
{
	uint64_t n;

	if (!nsx_wire_varint(w, &n))
		return false;
	if (n > (size_t)(w->end - w->p)) {
		w->is_bad = true;
		return false;
	}
	*ret = (struct nsx_piece){w->p, (size_t)n};
	w->p += n;
	return true;
}

bool nsx_msg_read(struct nsx_msg *m, struct nsx_piece b)
{
	struct nsx_wire w = nsx_wire_of(b);

	memset(m->has, 0, sizeof(m->has));
	while (nsx_wire_next(&w))
		if (w.field < NSX_MSG_FIELDS) {
			m->has[w.field / 64] |= UINT64_C(1) << w.field % 64;
			m->v[w.field] = (struct nsx_msg_field){w.bytes.p ? w.bytes.n : w.n,
							       w.bytes.p};
		}
	return !w.is_bad;
}

bool nsx_msg_sound(struct nsx_msg *m, struct nsx_piece b, bool *is_garbled)
{
	bool is_sound = nsx_msg_read(m, b);

	*is_garbled |= !is_sound;
	return is_sound;
}

bool nsx_wire_message(struct nsx_wire *w, unsigned field, struct nsx_msg *m, bool *is_garbled)
{
	while (nsx_wire_next(w))
		if ((!field || w->field == field) && w->bytes.p &&
		    nsx_msg_sound(m, w->bytes, is_garbled))
			return true;
	*is_garbled |= w->is_bad;
	return false;
}
