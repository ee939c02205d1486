/* wire.c - varints, lengths and fixed numbers, each checked against the end. */
#include <string.h>
#include "nsysrep/wire.h"

enum { VARINT = 0, FIXED_64 = 1, BYTES = 2, FIXED_32 = 5 };

bool nsx_wire_varint(struct nsx_wire *w, uint64_t *ret)
{
	uint64_t n = 0;

	for (unsigned shift = 0; shift < 70 && w->p < w->end; shift += 7) {
		uint8_t byte = *w->p++;

		n |= shift < 64 ? (uint64_t)(byte & 127) << shift : 0;
		if (byte < 128) {
			*ret = n;
			return true;
		}
	}
	w->is_bad = true;
	return false;
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

static bool read_fixed(struct nsx_wire *w, size_t size)
{
	w->n = 0;
	if ((size_t)(w->end - w->p) < size) {
		w->is_bad = true;
		return false;
	}
	for (size_t i = 0; i < size; i++)
		w->n |= (uint64_t)w->p[i] << 8 * i;
	w->p += size;
	return true;
}

bool nsx_wire_next(struct nsx_wire *w)
{
	uint64_t key;

	if (w->is_bad || w->p >= w->end || !nsx_wire_varint(w, &key))
		return false;
	w->field = (uint32_t)NSX_MIN(key >> 3, UINT32_MAX);
	w->bytes = (struct nsx_piece){NULL, 0};
	w->n = 0;
	switch (key & 7) {
	case VARINT:
		return nsx_wire_varint(w, &w->n);
	case FIXED_64:
		return read_fixed(w, 8);
	case FIXED_32:
		return read_fixed(w, 4);
	case BYTES:
		return nsx_wire_bytes(w, &w->bytes);
	default:
		w->is_bad = true;
		return false;
	}
}

bool nsx_msg_read(struct nsx_msg *m, struct nsx_piece b)
{
	struct nsx_wire w = nsx_wire_of(b);

	memset(m->has, 0, sizeof(m->has));
	while (nsx_wire_next(&w))
		if (w.field < NSX_MSG_FIELDS) {
			m->has[w.field / 64] |= UINT64_C(1) << w.field % 64;
			m->v[w.field].n = w.n;
			m->v[w.field].bytes = w.bytes;
		}
	return !w.is_bad;
}
