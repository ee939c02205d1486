/* payload.c - schemas of NVTX payloads, and values that are stored according to them.
 *
 * A type is basic, an enumeration or a structure. Each process has its own ids for enumerations and
 * structures.
 */
#include <math.h>
#include "nsysrep/payload.h"

enum { CHAR = 1, FLOAT = 19, DOUBLE = 20, ADDRESS = 23, FIRST_TEXT = 75, LAST_TEXT = 76,
       STRING_ID = 80, /* basic types                                         */
       POINTER = 2, LISTS = 48, /* flags                                      */
       FIXED = 16, TO_ZERO = 32, COUNTED = 48, /* a list's length is fixed, goes to a zero, or is
						  in another entry            */
       UNION = 3, /* first kind of structure whose entries lie on each other */
       MOST_DEPTH = 8, MOST_ENTRIES = 256 };

struct entry {
	uint64_t type, list, at, length, meaning; /* list: its flags for lists; 0: one value */
	struct nsx_piece name;
};

struct nsx_rep_layout {
	uint64_t pid, id, size, align;
	bool is_union;
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

static bool type_is_signed(uint64_t type)
{
	return type < FLOAT && type & 1;
}

/* Size of a type in bytes; 0: unknown. */
static uint64_t type_width(const struct nsx_rep_schemas *s, uint64_t pid, uint64_t type)
{
	/* Sizes that no report lists: a byte, category, colour, scope, process and thread ids. */
	static const uint8_t more[] = {[32] = 1, [68] = 4, 4, 8, 4, 8, 4, 8, [STRING_ID] = 8};
	const struct nsx_rep_layout *l = payload_find(s, pid, type);

	return l ? l->size ? l->size : l->v ? 0 : 4 :
	       type < s->nbasic ? s->basic[type] :
	       type < ARRAY_LEN(more) ? more[type] : 0;
}

static uint64_t type_align(const struct nsx_rep_schemas *s, uint64_t pid, uint64_t type)
{
	const struct nsx_rep_layout *l = payload_find(s, pid, type);

	return l && l->v ? l->align : type_width(s, pid, type);
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
			nsx_msg_uint(&m, 2) & POINTER ? ADDRESS : nsx_msg_uint(&m, 1),
			nsx_msg_uint(&m, 2) & LISTS, nsx_msg_uint(&m, 3),
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
		l.is_union = w.field == SCHEMA && nsx_msg_uint(&m, 2) >= UNION;
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
	/* Structures have higher ids than those inside them. */
	for (size_t i = 0; i < ret->n; i++)
		for (unsigned k = 0; ret->v[i].v && k < ret->v[i].n; k++)
			ret->v[i].align = NSX_MAX(ret->v[i].align, type_align(
				ret, ret->v[i].pid, ret->v[i].v[k].type));
}

void nsx_rep_schemas_done(struct nsx_rep_schemas *s)
{
	nsx_arena_free(s->arena);
	free(s->loose);
	free(s->v);
}

/* Values ---------------------------------------------------------------------------*/

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
	uint64_t end; /* offset of what follows                              */
	bool is_text;
};

static uint64_t align_up(uint64_t at, uint64_t align)
{
	return align > 1 ? (at + align - 1) / align * align : at;
}

/* The number of values before the first zero. */
static uint64_t count_to_zero(const uint8_t *p, uint64_t width, uint64_t most)
{
	static const uint8_t zero[16];
	uint64_t n = 0;

	while (n < most && memcmp(p + n * width, zero, NSX_MIN(width, sizeof(zero))))
		n++;
	return n;
}

/* Finds the bytes of entry i in a payload, after those of the entries before it: an entry without
 * an offset follows the one before. False: they are not inside the payload.
 */
static bool locate_entry(const struct nsx_rep_schemas *s, const struct nsx_rep_layout *l,
			 struct nsx_piece data, unsigned i, struct part *parts)
{
	const struct entry *e = &l->v[i];
	bool is_string = e->type >= FIRST_TEXT && e->type <= LAST_TEXT;
	bool to_zero = e->list == TO_ZERO || (is_string && !e->list);
	uint64_t width = is_string ? 1 : type_width(s, l->pid, e->type), at = e->at, room;
	struct part *p = &parts[i];

	if (!at && i && !l->is_union)
		at = align_up(parts[i - 1].end, type_align(s, l->pid, e->type));
	if (!width || at > data.n)
		return false;
	room = (data.n - at) / width;
	*p = (struct part){.e = e, .width = width, .n = e->list == FIXED ? e->length : 1};
	p->is_text = is_string || (e->type == CHAR && e->list);
	if (e->list == COUNTED) {
		if (e->length >= i || parts[e->length].e->list || parts[e->length].width > 8)
			return false;
		p->n = (uint64_t)nsx_payload_int(parts[e->length].bytes, false);
	} else if (to_zero) {
		p->n = count_to_zero(data.p + at, width, room);
	}
	if (p->n > room)
		return false;
	p->bytes = (struct nsx_piece){data.p + at, p->n * width};
	p->end = at + p->bytes.n + (to_zero ? width : 0);
	return true;
}

static void payload_add_text(struct nsx_buf *b, struct nsx_piece text)
{
	nsx_buf_adds(b, "\"");
	nsx_buf_add_escaped(b, (const char *)text.p, NSX_MIN(text.n, NSX_MAX_TEXT));
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
static void add_enum_name(struct nsx_buf *b, const struct nsx_rep_layout *l, struct nsx_piece bytes)
{
	uint64_t unused = bytes.n < 8 ? UINT64_MAX << 8 * bytes.n : 0;
	uint64_t value = (uint64_t)nsx_payload_int(bytes, false);
	struct nsx_wire w = nsx_wire_of(l->values);
	struct nsx_msg m;

	while (nsx_wire_next(&w))
		if (w.field == 4 && w.bytes.p && nsx_msg_read(&m, w.bytes) &&
		    (nsx_msg_uint(&m, 2) & ~unused) == value) {
			payload_add_text(b, nsx_msg_bytes(&m, 1));
			return;
		}
	nsx_buf_printf(b, "%llu", (unsigned long long)value);
}

static bool add_object(const struct nsx_rep_schemas *s, const struct nsx_rep_layout *l,
		       struct nsx_piece data, unsigned depth, size_t *room, struct nsx_buf *b);

/* Adds a value of a payload as JSON. room: number of values that may still be added. */
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
		add_enum_name(b, l, bytes);
	else if (type == FLOAT || type == DOUBLE)
		add_real(b, bytes);
	else if (bytes.n > 8)
		return false;
	else if (type == STRING_ID && !x)
		nsx_buf_adds(b, "null");
	else if (type == STRING_ID && (uint64_t)x < s->strings->n)
		payload_add_text(b, nsx_rep_string(s->strings, (uint64_t)x));
	else if (type_is_signed(type))
		nsx_buf_printf(b, "%lld", (long long)x);
	else
		nsx_buf_printf(b, "%llu", (unsigned long long)x);
	return true;
}

static bool payload_add_list(const struct nsx_rep_schemas *s, uint64_t pid, const struct part *p,
		       unsigned depth, size_t *room, struct nsx_buf *b)
{
	bool is_whole = true;

	if (p->is_text) {
		payload_add_text(b, (struct nsx_piece){
			p->bytes.p, (size_t)count_to_zero(p->bytes.p, 1, p->bytes.n)});
		return true;
	}
	nsx_buf_adds(b, p->e->list ? "[" : "");
	for (uint64_t k = 0; is_whole && k < p->n; k++) {
		struct nsx_piece one = {p->bytes.p + k * p->width, p->width};

		nsx_buf_adds(b, k ? ", " : "");
		is_whole = b->n <= NSX_MAX_TEXT &&
			   add_value(s, pid, p->e->type, one, depth, room, b);
	}
	nsx_buf_adds(b, p->e->list ? "]" : "");
	return is_whole;
}

static bool add_object(const struct nsx_rep_schemas *s, const struct nsx_rep_layout *l,
		       struct nsx_piece data, unsigned depth, size_t *room, struct nsx_buf *b)
{
	bool is_whole = depth < MOST_DEPTH;
	struct part parts[MOST_ENTRIES], *p = parts;

	nsx_buf_adds(b, "{");
	for (unsigned i = 0; is_whole && i < l->n; i++, p++) {
		if (!locate_entry(s, l, data, i, parts) || b->n > NSX_MAX_TEXT)
			return false;
		nsx_buf_adds(b, i ? ", " : "");
		payload_add_text(b, p->e->name);
		nsx_buf_adds(b, ": ");
		is_whole = payload_add_list(s, l->pid, p, depth, room, b);
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
	struct part parts[MOST_ENTRIES], *part = parts;

	*ret = (struct nsx_rep_meanings){.has = 0};
	for (unsigned i = 0; l && l->v && i < l->n; i++, part++) {
		uint64_t meaning = l->v[i].meaning;

		if (!locate_entry(s, l, p->bytes, i, parts))
			return false;
		if (part->e->list && meaning == NSX_MEANS_REQUEST) {
			ret->has_list = true;
			ret->list = part->bytes;
			ret->width = (size_t)part->width;
		} else if (meaning && meaning < NSX_NMEANINGS) {
			ret->has |= UINT64_C(1) << meaning;
			ret->v[meaning] = nsx_payload_int(part->bytes,
							  type_is_signed(part->e->type));
		}
	}
	return l && l->v;
}

bool nsx_payload_named(const struct nsx_rep_schemas *s, const struct nsx_rep_payload *p,
		       const char *name, int64_t *ret)
{
	const struct nsx_rep_layout *l = payload_find(s, p->pid, p->schema);
	struct part parts[MOST_ENTRIES];

	for (unsigned i = 0; l && l->v && i < l->n; i++) {
		if (!locate_entry(s, l, p->bytes, i, parts))
			return false;
		if (!nsx_piece_is(l->v[i].name, name))
			continue;
		*ret = nsx_payload_int(parts[i].bytes, type_is_signed(parts[i].e->type));
		return true;
	}
	return false;
}
