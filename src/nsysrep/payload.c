/* payload.c - schemas of NVTX payloads, and values that are stored according to them.
 *
 * A type is basic, an enumeration or a structure. Each process has its own ids for enumerations and
 * structures.
 */
#include <math.h>
#include "nsysrep/payload.h"

enum { FLOAT = 19, DOUBLE = 20, STRING_ID = 80, /* basic types               */
       LIST = 48, /* flag: array whose length is in another entry            */
       MOST_DEPTH = 8, MOST_ENTRIES = 256 };

struct entry {
	uint64_t type, flags, at, length_entry, meaning;
	struct nsx_piece name;
};

struct nsx_rep_layout {
	uint64_t pid, id, size;
	struct nsx_piece values; /* message that lists the values of an enumeration */
	const struct entry *v;	 /* NULL: an enumeration                     */
	unsigned n;
};

NSX_ORDER(by_id, struct nsx_rep_layout, UP(pid), UP(id));

static const struct nsx_rep_layout *payload_find(const struct nsx_rep_schemas *s, uint64_t pid,
						 uint64_t id)
{
	size_t lo = 0, hi = s->n;

	NSX_BISECT(lo, hi, mid, s->v[mid].pid < pid || (s->v[mid].pid == pid && s->v[mid].id < id));
	return lo < s->n && s->v[lo].pid == pid && s->v[lo].id == id ? &s->v[lo] : NULL;
}

/* Reading schemas ----------------------------------------------------------------*/

enum { SCHEMA = 2, LOOSE = 3, ENUMERATION = 4, /* fields of a process        */
       ENTRY = 4 }; /* field of a schema                                     */

static bool read_entries(struct nsx_rep_schemas *s, struct nsx_piece bytes,
			 struct nsx_rep_layout *l)
{
	struct nsx_wire w = nsx_wire_of(bytes);
	struct entry v[MOST_ENTRIES];
	bool is_garbled = false;
	struct nsx_msg m;

	while (l->n < MOST_ENTRIES && nsx_wire_message(&w, ENTRY, &m, &is_garbled))
		v[l->n++] = (struct entry){
			nsx_msg_uint(&m, 1), nsx_msg_uint(&m, 2), nsx_msg_uint(&m, 3),
			nsx_msg_uint(&m, 4), nsx_msg_uint(&m, 9), nsx_msg_bytes(&m, 7)};
	s->is_garbled |= is_garbled;
	l->v = nsx_arena_get(s->arena, (l->n + 1) * sizeof(*v));
	if (l->n)
		memcpy((void *)l->v, v, l->n * sizeof(*v));
	return !is_garbled;
}

static void read_process(struct nsx_rep_schemas *s, struct nsx_piece bytes)
{
	struct nsx_wire w = nsx_wire_of(bytes);
	struct nsx_msg m;
	uint64_t pid = 0;

	while (nsx_wire_next(&w)) {
		struct nsx_rep_layout l = {.pid = pid};

		if (w.field == 1)
			pid = w.n;
		if (w.field < SCHEMA || w.field > ENUMERATION || !w.bytes.p ||
		    !nsx_msg_sound(&m, w.bytes, &s->is_garbled))
			continue;
		if (w.field == LOOSE) {
			nsx_push_or_die(s->loose, s->nloose, s->loose_cap, (struct nsx_rep_loose){
				nsx_msg_int(&m, 1),
				{pid, nsx_msg_uint(&m, 3), nsx_msg_bytes(&m, 4)}});
			continue;
		}
		l.id = nsx_msg_uint(&m, w.field == SCHEMA ? 1 : 2);
		l.size = nsx_msg_uint(&m, w.field == SCHEMA ? 6 : 5);
		l.values = w.bytes;
		if (w.field == ENUMERATION || read_entries(s, w.bytes, &l))
			nsx_push_or_die(s->v, s->n, s->cap, l);
	}
	s->is_garbled |= w.is_bad;
}

void nsx_rep_schemas_read(struct nsx_piece block, const struct nsx_rep_strings *strings,
			  struct nsx_rep_schemas *ret)
{
	struct nsx_wire w = nsx_wire_of(block);
	struct nsx_msg m;

	*ret = (struct nsx_rep_schemas){.arena = nsx_arena_new(),
					.strings = strings, .nbasic = 1};
	while (nsx_wire_next(&w)) {
		if (w.field == 2 && w.bytes.p && ret->nbasic < ARRAY_LEN(ret->basic) &&
		    nsx_msg_sound(&m, w.bytes, &ret->is_garbled))
			ret->basic[ret->nbasic++] = nsx_msg_uint(&m, 1);
		if (w.field == 3 && w.bytes.p)
			read_process(ret, w.bytes);
	}
	ret->is_garbled |= w.is_bad;
	nsx_sort(ret->v, ret->n, sizeof(*ret->v), by_id);
}

void nsx_rep_schemas_done(struct nsx_rep_schemas *s)
{
	nsx_arena_free(s->arena);
	free(s->loose);
	free(s->v);
}

/* Values ---------------------------------------------------------------------------*/

static bool type_is_signed(uint64_t type)
{
	return type < FLOAT && type & 1;
}

/* Size of a type in bytes; 0: unknown. */
static uint64_t type_width(const struct nsx_rep_schemas *s, uint64_t pid, uint64_t type)
{
	const struct nsx_rep_layout *l = payload_find(s, pid, type);

	return l ? l->size ? l->size : l->v ? 0 : 4 :
	       type == STRING_ID ? 8 : type < s->nbasic ? s->basic[type] : 0;
}

int64_t nsx_payload_int(struct nsx_piece b, bool is_signed)
{
	size_t n = NSX_MIN(b.n, 8);
	uint64_t x = is_signed && n && b.p[n - 1] & 0x80 && n < 8 ? UINT64_MAX << 8 * n : 0;

	for (size_t i = 0; i < n; i++)
		x |= (uint64_t)b.p[i] << 8 * i;
	return (int64_t)x;
}

/* An entry of a payload with its bytes: n values of `width` bytes; n is 1 unless it is a list. */
struct part {
	const struct entry *e;
	struct nsx_piece bytes;
	uint64_t width, n;
};

/* Finds the bytes of entry i in a payload. False: they are not inside the payload. */
static bool locate_entry(const struct nsx_rep_schemas *s, const struct nsx_rep_layout *l,
			 struct nsx_piece data, unsigned i, struct part *ret)
{
	const struct entry *e = &l->v[i];
	struct part length;

	*ret = (struct part){e, {NULL, 0}, type_width(s, l->pid, e->type), 1};
	if (e->flags == LIST) {
		if (e->length_entry >= i || l->v[e->length_entry].flags == LIST ||
		    !locate_entry(s, l, data, (unsigned)e->length_entry, &length) ||
		    length.width > 8)
			return false;
		ret->n = (uint64_t)nsx_payload_int(length.bytes, false);
	}
	if (!ret->width || e->at > data.n || ret->n > (data.n - e->at) / ret->width)
		return false;
	ret->bytes = (struct nsx_piece){data.p + e->at, ret->n * ret->width};
	return true;
}

static void payload_add_text(struct nsx_buf *b, struct nsx_piece text)
{
	size_t n = NSX_MIN(text.n, NSX_MAX_TEXT);

	nsx_buf_adds(b, "\"");
	for (size_t i = 0; i < n; i++) {
		uint8_t c = text.p[i];

		if (c < 0x20)
			nsx_buf_printf(b, "\\u%04x", c);
		else
			nsx_buf_printf(b, c == '"' || c == '\\' ? "\\%c" : "%c", c);
	}
	nsx_buf_adds(b, "\"");
}

static void add_real(struct nsx_buf *b, struct nsx_piece bytes)
{
	float f = 0;
	double x = 0;

	if (bytes.n == sizeof(f)) {
		memcpy(&f, bytes.p, sizeof(f));
		x = (double)f;
	} else if (bytes.n == sizeof(x)) {
		memcpy(&x, bytes.p, sizeof(x));
	}
	if (isfinite(x))
		nsx_buf_printf(b, "%.17g", x);
	else
		nsx_buf_adds(b, "null");
}

/* Appends the name that an enumeration gives to a value, or the number if it has no name. */
static void add_enum_name(struct nsx_buf *b, const struct nsx_rep_layout *l, int64_t value)
{
	struct nsx_wire w = nsx_wire_of(l->values);
	struct nsx_msg m;

	while (nsx_wire_next(&w))
		if (w.field == 4 && w.bytes.p && nsx_msg_read(&m, w.bytes) &&
		    nsx_msg_int(&m, 2) == value) {
			payload_add_text(b, nsx_msg_bytes(&m, 1));
			return;
		}
	nsx_buf_printf(b, "%lld", (long long)value);
}

static bool add_object(const struct nsx_rep_schemas *s, const struct nsx_rep_layout *l,
		       struct nsx_piece data, unsigned depth, size_t *room, struct nsx_buf *b);

/* room: number of values that may still be added. */
static bool add_value(const struct nsx_rep_schemas *s, uint64_t pid, uint64_t type,
		      struct nsx_piece bytes, unsigned depth, size_t *room, struct nsx_buf *b)
{
	const struct nsx_rep_layout *l = payload_find(s, pid, type);
	int64_t x = nsx_payload_int(bytes, type_is_signed(type));

	if (!*room)
		return false;
	--*room;
	if (l && l->v)
		return add_object(s, l, bytes, depth + 1, room, b);
	if (l)
		add_enum_name(b, l, x);
	else if (type == FLOAT || type == DOUBLE)
		add_real(b, bytes);
	else if (bytes.n > 8)
		return false;
	else if (type == STRING_ID && (uint64_t)x < s->strings->n)
		payload_add_text(b, nsx_rep_string(s->strings, (uint64_t)x));
	else if (type_is_signed(type))
		nsx_buf_printf(b, "%lld", (long long)x);
	else
		nsx_buf_printf(b, "%llu", (unsigned long long)x);
	return true;
}

static bool add_object(const struct nsx_rep_schemas *s, const struct nsx_rep_layout *l,
		       struct nsx_piece data, unsigned depth, size_t *room, struct nsx_buf *b)
{
	bool is_whole = depth < MOST_DEPTH;

	nsx_buf_adds(b, "{");
	for (unsigned i = 0; is_whole && i < l->n; i++) {
		struct part p;

		if (!locate_entry(s, l, data, i, &p) || b->n > NSX_MAX_TEXT)
			return false;
		nsx_buf_adds(b, i ? ", " : "");
		payload_add_text(b, p.e->name);
		nsx_buf_adds(b, p.e->flags == LIST ? ": [" : ": ");
		for (uint64_t k = 0; is_whole && k < p.n; k++) {
			struct nsx_piece one = {p.bytes.p + k * p.width, p.width};

			nsx_buf_adds(b, k ? ", " : "");
			is_whole = b->n <= NSX_MAX_TEXT &&
				   add_value(s, l->pid, p.e->type, one, depth, room, b);
		}
		nsx_buf_adds(b, p.e->flags == LIST ? "]" : "");
	}
	nsx_buf_adds(b, "}");
	return is_whole;
}

bool nsx_payload_json(const struct nsx_rep_schemas *s, const struct nsx_rep_payload *p,
		      struct nsx_buf *b)
{
	const struct nsx_rep_layout *l = payload_find(s, p->pid, p->schema);

	/* Entries of unions overlap, but those of a made-up schema may do so without end. */
	size_t room = 64 + 8 * p->bytes.n;

	return l && l->v && add_object(s, l, p->bytes, 0, &room, b);
}

bool nsx_payload_meanings(const struct nsx_rep_schemas *s, const struct nsx_rep_payload *p,
			  struct nsx_rep_meanings *ret)
{
	const struct nsx_rep_layout *l = payload_find(s, p->pid, p->schema);

	*ret = (struct nsx_rep_meanings){.has = 0};
	for (unsigned i = 0; l && l->v && i < l->n; i++) {
		uint64_t meaning = l->v[i].meaning;
		struct part part;

		if (!locate_entry(s, l, p->bytes, i, &part))
			return false;
		if (part.e->flags == LIST && meaning == NSX_MEANS_REQUEST) {
			ret->has_list = true;
			ret->list = part.bytes;
			ret->width = (size_t)part.width;
		} else if (meaning && meaning < NSX_NMEANINGS) {
			ret->has |= UINT64_C(1) << meaning;
			ret->v[meaning] = nsx_payload_int(part.bytes, type_is_signed(part.e->type));
		}
	}
	return l && l->v;
}

bool nsx_payload_named(const struct nsx_rep_schemas *s, const struct nsx_rep_payload *p,
		       const char *name, int64_t *ret)
{
	const struct nsx_rep_layout *l = payload_find(s, p->pid, p->schema);
	struct part part;

	for (unsigned i = 0; l && l->v && i < l->n; i++)
		if (nsx_piece_is(l->v[i].name, name) && locate_entry(s, l, p->bytes, i, &part)) {
			*ret = nsx_payload_int(part.bytes, type_is_signed(part.e->type));
			return true;
		}
	return false;
}
