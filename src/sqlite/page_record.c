/* page_record.c - decodes cells of a leaf page in place.
 *
 * The header of a record gives type and length of every column, so finding the tenth column means
 * adding up ten lengths. Records of a trace often repeat a recent header. The result for a header
 * is therefore cached, with the header's bytes, as a shape. The next record is compared with the
 * last shape, then with the shape in the hash slot of its header. NULL and all integers are decoded
 * without branches on the type, because types vary from row to row and a mispredicted branch costs
 * more than the load.
 *
 * 8 bytes may be loaded from any place in a page, and a varint from its end (NSX_PAGE_SLACK). A
 * value is used only once it is known to lie in the cell.
 */
#include <assert.h>
#include "sqlite/page_record.h"

#define LEAF_HEADER   8
#define MIN_LEAF_CELL 4
#define HEAD_WORDS    16    /* longest header that is cached, in units of 8 bytes */
#define MAX_HEAD      98307 /* SQLite's limit */
#define KEEP_BIG      ((size_t)1 << 20)
#define SHAPE_BITS    5
#define NSHAPES	      (1 << SHAPE_BITS)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "loads and masks below are for little-endian machines");

enum op { OP_INTEGER, OP_DOUBLE, OP_INTEGER_AS_DOUBLE, OP_BYTES, OP_ABSENT };

struct field {
	uint32_t at;  /* offset in the record */
	uint32_t len; /* bytes of the value as stored */
	uint16_t slot;
	uint8_t op;
	uint8_t type;	  /* enum nsx_val_type                  */
	/* The value of an integer is (load >> shift & mask) + add. */
	uint8_t shift;
	int8_t mask, add;
};

struct shape {
	uint64_t head[HEAD_WORDS];
	uint64_t last_mask; /* mask for the last word */
	uint32_t nwords;
	uint32_t head_len; /* length of the header; UINT32_MAX: the slot is unused */
	/* Length of the record; if is_whole is false, it is at least this long. */
	uint64_t total;
	bool is_whole;	    /* total is the exact length         */
	struct field fields[];
};

struct nsx_decoder {
	const struct nsx_pagefile *f;
	const struct nsx_wants *w;
	const char *table;
	uint32_t page; /* current page */
	uint32_t max_local, min_local;
	uint64_t max_payload;
	bool is_cut; /* skip rows whose cut_column is outside [from, to) */
	uint16_t cut_column;
	int64_t from, to;
	struct shape *last; /* shape of the record before */
	uint8_t *shapes;    /* hash table: NSHAPES of shape_size bytes */
	size_t shape_size;
	uint32_t chain_left;
	uint8_t *chain_page;
	uint8_t *big; /* assembled parts of overflowing records */
	size_t big_cap;
	struct nsx_val v[NSX_MAX_COLUMNS];
};

struct cell {
	const uint8_t *record; /* the part on the leaf page */
	uint64_t payload;
	uint32_t local;
	int64_t rid;
};

/* Reading ----------------------------------------------------------------*/
static inline uint64_t load64(const uint8_t *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
	return x;
}

static inline uint64_t be64(const uint8_t *p)
{
	return __builtin_bswap64(load64(p));
}

/* Decodes a varint; returns its length in bytes, 1..9. */
static inline unsigned read_varint(const uint8_t *p, uint64_t *ret)
{
	uint64_t x = 0;

	if (p[0] < 0x80) {
		*ret = p[0];
		return 1;
	}
	for (unsigned i = 0; i < 8; i++) {
		x = x << 7 | (p[i] & 0x7f);
		if (p[i] < 0x80) {
			*ret = x;
			return i + 1;
		}
	}
	*ret = x << 8 | p[8];
	return 9;
}

/* Length of a value by serial type; types 10 and 11 are unused. */
static const uint8_t type_size[128] = {
#define TEXTS(n) n, n, (n) + 1, (n) + 1, (n) + 2, (n) + 2, (n) + 3, (n) + 3
    0,	       1,	  2,	     3,		4,	   6,
    8,	       8,	  0,	     0,		0,	   0,
    TEXTS(0),  TEXTS(4),  TEXTS(8),  TEXTS(12), TEXTS(16), TEXTS(20),
    TEXTS(24), TEXTS(28), TEXTS(32), TEXTS(36), TEXTS(40), TEXTS(44),
    TEXTS(48), TEXTS(52), 56,	     56,	57,	   57,
#undef TEXTS
};

static int fail_damaged(const struct nsx_decoder *d, const char *why, struct nsx_err *err)
{
	return nsx_page_damaged(err, d->table, d->page, why);
}

/* Shapes -----------------------------------------------------------------*/
static inline bool has_header(const struct shape *s, const struct cell *c)
{
	uint64_t diff = 0;
	size_t i;

	if (c->local < s->head_len)
		return false;
	for (i = 0; i + 1 < s->nwords; i++)
		diff |= load64(c->record + 8 * i) ^ s->head[i];
	diff |= (load64(c->record + 8 * i) ^ s->head[i]) & s->last_mask;
	return !diff;
}

static void keep_header(struct shape *s, const uint8_t *head, size_t len)
{
	size_t rest = (len - 1) % 8 + 1;

	if (len > sizeof(s->head)) {
		s->head_len = UINT32_MAX;
		return;
	}
	s->nwords = (uint32_t)(len + 7) / 8;
	s->head_len = (uint32_t)len;
	s->last_mask = rest == 8 ? ~UINT64_C(0) : (UINT64_C(1) << 8 * rest) - 1;
	for (size_t i = 0; i < s->nwords; i++) /* trailing bytes are masked */
		s->head[i] = load64(head + 8 * i);
}

/* Decoding of serial types below 12, as stored and as doubles. */
#define INTEGER(o, t, n)                                                       \
	{                                                                      \
		.op = (o), .type = (t), .len = (n), .shift = 64 - 8 * (n),     \
		.mask = -1                                                     \
	}
#define INTEGERS(o, t)                                                         \
	[1] = INTEGER(o, t, 1), [2] = INTEGER(o, t, 2),                        \
	[3] = INTEGER(o, t, 3), [4] = INTEGER(o, t, 4),                        \
	[5] = INTEGER(o, t, 6), [6] = INTEGER(o, t, 8),                        \
	[7] = {.op = OP_DOUBLE, .len = 8}, [8] = {.op = (o), .type = (t)},     \
	[9] = {.op = (o), .type = (t), .add = 1}

static const struct field fields_by_type[2][12] = {
    {INTEGERS(OP_INTEGER, NSX_V_I64)},
    {INTEGERS(OP_INTEGER_AS_DOUBLE, NSX_V_F64)},
};

static void set_field(struct field *f, const struct nsx_wanted *w, uint64_t type, uint64_t at)
{
	if (type < 12)
		*f = fields_by_type[w->is_real][type];
	else
		*f = (struct field){
		    .op = OP_BYTES,
		    .type = type & 1 ? NSX_V_TEXT : NSX_V_BLOB,
		    .len = (uint32_t)(type - 12) / 2,
		};
	f->at = (uint32_t)at;
	f->slot = w->slot;
}

/* Parses the fields of a header in [p, end) up to the last wanted column and returns where
 * it stopped; *ret_total is the end of that column in the record.
 */
static const uint8_t *parse_types(const struct nsx_decoder *d, const uint8_t *p,
				  const uint8_t *end, struct shape *s, uint64_t *ret_total)
{
	uint64_t type = 0, at = 0, next = *ret_total;
	unsigned column = 0;

	for (unsigned i = 0; i < d->w->n; i++) {
		const struct nsx_wanted *w = &d->w->v[i];

		for (; column <= w->column && p < end; column++) {
			at = next;
			type = *p;
			if (type < 0x80) {
				p++;
				next += type_size[type];
			} else {
				p += read_varint(p, &type);
				type = NSX_MIN(type, UINT32_MAX);
				next += (type - 12) / 2;
			}
		}
		if (column > w->column)
			set_field(&s->fields[i], w, type, at);
		else
			s->fields[i] = (struct field){.slot = w->slot, .op = OP_ABSENT};
	}
	*ret_total = next;
	return p;
}

/* Makes shape s from a header of which `avail` bytes are readable. *ret_need: the header's length;
 * if it exceeds `avail`, s is not made. Returns NULL, or what is wrong with the header.
 */
static const char *parse_header(const struct nsx_decoder *d, const uint8_t *head,
				uint64_t payload, uint64_t avail, struct shape *s,
				uint64_t *ret_need)
{
	uint64_t size, total;
	unsigned n = read_varint(head, &size);
	const uint8_t *p;

	if (size < n || size > payload || size > MAX_HEAD)
		return "impossible head of a record";
	*ret_need = size;
	if (size > avail)
		return NULL;
	total = size;
	p = parse_types(d, head + n, head + size, s, &total);
	if (p > head + size)
		return "impossible head of a record";
	if (total > payload)
		return "a column lies outside its record";
	s->is_whole = p == head + size;
	s->total = total;
	keep_header(s, head, (size_t)(p - head));
	return NULL;
}

/* Values -----------------------------------------------------------------*/
static inline void put_double(struct nsx_val *v, uint64_t bits)
{
	memcpy(&v->u.f, &bits, sizeof(bits));
	v->type = v->u.f == v->u.f ? NSX_V_F64 : NSX_V_NULL;
}

static inline void page_record_put(const struct nsx_decoder *d, const struct field *f,
				   const uint8_t *p, struct nsx_val *v)
{
	int64_t x;

	if (f->op == OP_INTEGER) {
		x = (int64_t)be64(p) >> f->shift;
		v->type = f->type;
		v->u.i = (x & f->mask) + f->add;
	} else if (f->op == OP_BYTES) {
		v->type = f->type;
		v->len = f->len;
		v->u.p = (const char *)p;
	} else if (f->op == OP_DOUBLE) {
		put_double(v, be64(p));
	} else if (f->op == OP_INTEGER_AS_DOUBLE) {
		x = (int64_t)be64(p) >> f->shift;
		v->type = NSX_V_F64;
		v->u.f = (double)((x & f->mask) + f->add);
	} else {
		*v = d->w->absent[f->slot];
	}
}

/* Records that overflow --------------------------------------------------*/
static int page_record_make_room(struct nsx_decoder *d, size_t n, struct nsx_err *err)
{
	if (n <= d->big_cap && (d->big_cap <= KEEP_BIG || n > KEEP_BIG))
		return 0;
	free(d->big);
	d->big_cap = 0;
	d->big = nsx_try_alloc(n, 1, "a long cell", err);
	if (!d->big)
		return err->rc;
	d->big_cap = n;
	return 0;
}

struct chain { /* the part of a record that did not fit on its leaf page: a list of pages, each
		  starting with the number of the next */
	struct nsx_decoder *d;
	uint32_t next;	     /* page after the one in the buffer              */
	uint64_t begin, end; /* bytes of the record in the buffer */
};

static struct chain chain_of(struct nsx_decoder *d, const struct cell *c)
{
	return (struct chain){d, nsx_be32(c->record + c->local), c->local, c->local};
}

#define LINK 4 /* each overflow page begins with a link to the next */

static int read_next_page(struct chain *c, struct nsx_err *err)
{
	struct nsx_decoder *d = c->d;
	int rc;

	if (!d->chain_left)
		return nsx_page_damaged(err, d->table, c->next, "overflow pages lead in a circle");
	d->chain_left--;
	rc = nsx_page_get(d->f, d->table, c->next, d->chain_page, err);
	if (rc)
		return rc;
	c->next = nsx_be32(d->chain_page);
	c->begin = c->end;
	c->end += d->f->usable - LINK;
	return 0;
}

/* Copies n bytes from byte `from` of the record; `from` must not lie before the end of the last
 * copy.
 */
static int copy_from_chain(struct chain *c, uint64_t from, uint8_t *to, size_t n,
			   struct nsx_err *err)
{
	assert(!n || from >= c->begin);
	while (n) {
		size_t some;

		if (from >= c->end) {
			int rc = read_next_page(c, err);

			if (rc)
				return rc;
			continue;
		}
		some = NSX_MIN(n, (size_t)(c->end - from));
		memcpy(to, c->d->chain_page + LINK + (from - c->begin), some);
		from += some;
		to += some;
		n -= some;
	}
	return 0;
}

/* Copies bytes [at, at + n) of a record from its page or overflow pages. */
static int page_record_fetch(struct chain *chain, const struct cell *c, uint64_t at,
			     uint8_t *dst, size_t n, struct nsx_err *err)
{
	size_t here = 0;

	if (at < c->local) {
		here = NSX_MIN(n, (size_t)(c->local - at));
		memcpy(dst, c->record + at, here);
	}
	return copy_from_chain(chain, at + here, dst + here, n - here, err);
}

static inline bool is_local(const struct field *f, const struct cell *c)
{
	return !f->len || f->at + (uint64_t)f->len <= c->local;
}

/* Does the work of decode_cell for a record with wanted columns on overflow pages. */
static int put_overflowing_row(struct nsx_decoder *d, const struct cell *c,
			       const struct shape *s, struct nsx_err *err)
{
	struct chain chain = chain_of(d, c);
	size_t room = 0, used = 0;
	int rc;

	for (unsigned i = 0; i < d->w->n; i++)
		if (!is_local(&s->fields[i], c))
			room += NSX_MIN(s->fields[i].len, NSX_MAX_CELL) + 8;
	rc = page_record_make_room(d, room, err);
	for (unsigned i = 0; !rc && i < d->w->n; i++) {
		struct field f = s->fields[i];
		const uint8_t *p = c->record + (f.len ? f.at : 0);

		if (i && d->w->v[i].column == d->w->v[i - 1].column) {
			d->v[f.slot] = d->v[d->w->v[i - 1].slot];
			continue;
		}
		if (!is_local(&f, c)) {
			f.len = NSX_MIN(f.len, NSX_MAX_CELL);
			p = d->big + used;
			rc = page_record_fetch(&chain, c, f.at, d->big + used, f.len, err);
			used += f.len + 8;
		}
		if (!rc)
			page_record_put(d, &f, p, &d->v[f.slot]);
	}
	return rc;
}

/* Parses a header that reaches into overflow pages. */
static int parse_long_header(struct nsx_decoder *d, const struct cell *c,
			     uint64_t need, struct shape *s, struct nsx_err *err)
{
	struct chain chain = chain_of(d, c);
	const char *why;
	int rc = page_record_make_room(d, need + NSX_PAGE_SLACK, err) ?:
		 page_record_fetch(&chain, c, 0, d->big, need, err);

	if (rc)
		return rc;
	why = parse_header(d, d->big, c->payload, need, s, &need);
	return why ? fail_damaged(d, why, err) : 0;
}

/* Cells ------------------------------------------------------------------*/
static struct shape *shape_at(const struct nsx_decoder *d, size_t i)
{
	return (struct shape *)(d->shapes + i * d->shape_size);
}

/* The hash slot of a header, hashed over as many bytes as the last header has. */
static struct shape *page_record_place_of(const struct nsx_decoder *d, const struct cell *c)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
	const struct shape *s = d->last;
	uint64_t hash = 0;
	size_t i;

	if (c->local < s->head_len)
		return d->last;
	for (i = 0; i + 1 < s->nwords; i++)
		hash = (hash ^ load64(c->record + 8 * i)) * odd;
	hash = (hash ^ (load64(c->record + 8 * i) & s->last_mask)) * odd;
	return shape_at(d, hash >> (64 - SHAPE_BITS));
}

/* Makes this record's shape the last shape. */
static int change_shape(struct nsx_decoder *d, const struct cell *c, struct nsx_err *err)
{
	uint64_t need = 0;
	const char *why;

	d->last = page_record_place_of(d, c);
	if (has_header(d->last, c))
		return 0;
	d->last->head_len = UINT32_MAX; /* a head that fails leaves its fields half filled */
	why = parse_header(d, c->record, c->payload, c->local, d->last, &need);
	if (why)
		return fail_damaged(d, why, err);
	return need > c->local ? parse_long_header(d, c, need, d->last, err) : 0;
}

/* The bytes of an overflowing payload that are on the leaf page. */
static uint32_t local_part(const struct nsx_decoder *d, uint64_t payload)
{
	uint32_t n = d->min_local + (uint32_t)((payload - d->min_local) % (d->f->usable - 4));

	return n <= d->max_local ? n : d->min_local;
}

static inline const char *find_cell(const struct nsx_decoder *d, const uint8_t *page, unsigned at,
				    struct cell *ret)
{
	const uint8_t *p = page + at;
	size_t need;
	uint64_t rid;

	p += read_varint(p, &ret->payload);
	p += read_varint(p, &rid);
	ret->record = p;
	ret->rid = (int64_t)rid;
	if (ret->payload <= d->max_local) {
		ret->local = (uint32_t)ret->payload;
		need = ret->local;
	} else {
		if (ret->payload > d->max_payload)
			return "a record is longer than the file";
		ret->local = local_part(d, ret->payload);
		need = ret->local + 4;
	}
	if ((size_t)(p - page) + need > d->f->usable)
		return "a record reaches over its end";
	return NULL;
}

static inline int decode_cell(struct nsx_decoder *d, const struct cell *c, struct nsx_err *err)
{
	const struct shape *s;

	if (!has_header(d->last, c) && change_shape(d, c, err))
		return err->rc;
	s = d->last;
	if (c->payload != s->total && (c->payload < s->total || s->is_whole))
		return fail_damaged(d, "a column lies outside its record", err);
	for (unsigned i = 0; i < d->w->nrowid; i++)
		d->v[d->w->rowid_slots[i]] = (struct nsx_val){.type = NSX_V_I64, .u.i = c->rid};
	if (s->total > c->local)
		return put_overflowing_row(d, c, s, err);
	for (unsigned i = 0; i < d->w->n; i++) {
		const struct field *f = &s->fields[i];

		page_record_put(d, f, c->record + f->at, &d->v[f->slot]);
	}
	return 0;
}

/* Whether cut_column is an integer outside [from, to). False in doubt: if its bytes are not on this
 * page, or a text or blob stands before them.
 */
static inline bool is_outside(const struct nsx_decoder *d, const struct cell *c)
{
	unsigned head = c->record[0], at = head, type = 0;
	int64_t x;

	if (head < d->cut_column + 2U || head >= 0x80 || head > c->local)
		return false;
	for (unsigned i = 0; i <= d->cut_column; i++) {
		at += type_size[type];
		type = c->record[1 + i];
		if (type > 9)
			return false;
	}
	if (!type || type > 6 || at + type_size[type] > c->local)
		return false;
	x = (int64_t)be64(c->record + at) >> fields_by_type[0][type].shift;
	return x < d->from || x >= d->to;
}

int nsx_decode_leaf(struct nsx_decoder *d, const uint8_t *page, uint32_t number,
		    bool is_root, nsx_row_fn fn, void *ctx, struct nsx_err *err)
{
	unsigned n = nsx_page_cells(page), first = LEAF_HEADER + 2 * n;

	d->page = number;
	if (page[0] != NSX_PAGE_LEAF)
		return fail_damaged(d, "not a page of this kind of tree", err);
	if (first > d->f->usable || (!n && !is_root))
		return fail_damaged(d, "impossible number of cells", err);
	for (size_t i = 0; i < n; i++) {
		unsigned at = nsx_be16(page + LEAF_HEADER + 2 * i);
		struct cell c;
		const char *why;
		int rc;

		if (at < first || at > d->f->usable - MIN_LEAF_CELL)
			return fail_damaged(d, "a cell lies outside it", err);
		why = find_cell(d, page, at, &c);
		if (why)
			return fail_damaged(d, why, err);
		if (d->is_cut && is_outside(d, &c))
			continue;
		rc = decode_cell(d, &c, err) ?: fn(ctx, c.rid, d->v, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* The decoder ------------------------------------------------------------*/
static void set_decoder_sizes(struct nsx_decoder *d)
{
	uint64_t room = (uint64_t)d->f->npages * d->f->usable;

	d->max_local = d->f->usable - 35;
	d->min_local = (d->f->usable - 12) * 32 / 255 - 23;
	d->max_payload = NSX_MIN(room, INT32_MAX);
	d->chain_left = d->f->npages;
}

struct nsx_decoder *nsx_decoder_new(const struct nsx_pagefile *f, const struct nsx_wants *w,
				    const char *table, struct nsx_err *err)
{
	struct nsx_decoder *d = nsx_try_alloc(1, sizeof(*d), "a reader", err);

	if (!d)
		return NULL;
	d->f = f;
	d->w = w;
	d->table = table;
	set_decoder_sizes(d);
	d->chain_page = nsx_try_alloc(1, f->page_size + NSX_PAGE_SLACK, "a page", err);
	d->shape_size = sizeof(*d->last) + w->n * sizeof(struct field);
	d->shape_size += -d->shape_size % _Alignof(struct shape);
	d->shapes = nsx_try_alloc(NSHAPES, d->shape_size, "a reader", err);
	if (!d->chain_page || !d->shapes) {
		nsx_decoder_free(d);
		return NULL;
	}
	for (size_t i = 0; i < NSHAPES; i++)
		shape_at(d, i)->head_len = UINT32_MAX;
	d->last = shape_at(d, 0);
	return d;
}

void nsx_decoder_cut(struct nsx_decoder *d, int64_t from, int64_t to)
{
	for (unsigned i = 0; i < d->w->n; i++)
		if (!d->w->v[i].slot && !d->w->v[i].is_real) {
			d->is_cut = true;
			d->cut_column = d->w->v[i].column;
		}
	d->from = from;
	d->to = to;
}

void nsx_decoder_free(struct nsx_decoder *d)
{
	if (!d)
		return;
	free(d->shapes);
	free(d->chain_page);
	free(d->big);
	free(d);
}
