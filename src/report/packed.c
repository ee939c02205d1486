/* packed.c - rows in few bytes, in chunks that are never moved. */
#include <endian.h>
#include "base/number.h"
#include "base/pack.h"
#include "base/real.h"
#include "report/packed.h"

enum { TEXTS_SIZE = 64, CHUNK_SIZE = 65536 };

struct nsx_chunk {
	struct nsx_chunk *next;
	size_t n;
	unsigned char bytes[CHUNK_SIZE];
};

/* A row is packed when the next one is added, because the caller fills it until then. */
struct nsx_packed_rows {
	unsigned ncols;
	size_t n, most;
	struct nsx_chunk *first, *last;
	char texts[TEXTS_SIZE]; /* texts of the current row                  */
	size_t ntexts;
	struct nsx_cell cells[]; /* the current row and the one before       */
};

/* Format of a row: one bit per cell tells whether it differs from the row before; each cell
 * that differs follows as a byte, kind << 4 | n, and an n-byte number.
 */
enum kind {
	ABSENT,
	INTEGER,    /* an integer, zigzag-encoded                            */
	REAL,	    /* bit pattern of the real                               */
	MILLIONTHS, /* a real that is a whole number of millionths: that number, zigzag-encoded */
	TEXT,	    /* address of the text                                   */
	OWN_TEXT,   /* length of the text, followed by its bytes             */
	TRUTH,
	ID, /* id of a text                                                  */
};
enum { MOST_BYTES = NSX_PACKED_COLUMNS * 9 + 8 + TEXTS_SIZE + 8 };

struct nsx_packed_rows *nsx_packed_new(size_t max_rows, unsigned ncols)
{
	struct nsx_packed_rows *p;
	struct nsx_err err;

	if (ncols > NSX_PACKED_COLUMNS)
		abort();
	p = nsx_try_alloc(1, sizeof(*p) + (size_t)2 * ncols * sizeof(*p->cells), "rows", &err);
	if (p) {
		p->ncols = ncols;
		p->most = max_rows;
	}
	return p;
}

void nsx_packed_free(struct nsx_packed_rows *p)
{
	while (p && p->first) {
		struct nsx_chunk *c = p->first;

		p->first = c->next;
		free(c);
	}
	free(p);
}

size_t nsx_packed_count(const struct nsx_packed_rows *p)
{
	return p->n;
}

bool nsx_packed_is_full(const struct nsx_packed_rows *p)
{
	return p->n == p->most;
}

static bool is_own(const struct nsx_packed_rows *p, const char *text)
{
	return (uintptr_t)text - (uintptr_t)p->texts < sizeof(p->texts);
}

const char *nsx_packed_text(struct nsx_packed_rows *p, const char *text)
{
	size_t n = strlen(text) + 1;
	char *copy = p->texts + p->ntexts;

	if (n > sizeof(p->texts) - p->ntexts)
		return NULL;
	p->ntexts += n;
	return memcpy(copy, text, n);
}

/* Writing ------------------------------------------------------------------*/

static unsigned char *packed_put(unsigned char *at, enum kind kind, uint64_t x)
{
	unsigned n = (71 - (unsigned)__builtin_clzll(x | 1)) / 8;

	*at++ = (unsigned char)(kind << 4 | n);
	x = htole64(x);
	memcpy(at, &x, 8); /* writes up to 7 bytes too many, which the next number overwrites */
	return at + n;
}

static unsigned char *packed_put_text(unsigned char *at, const char *text)
{
	size_t n = strlen(text) + 1;

	at = packed_put(at, OWN_TEXT, n);
	memcpy(at, text, n);
	return at + n;
}

static unsigned char *packed_put_cell(const struct nsx_packed_rows *p,
				      unsigned char *at, const struct nsx_cell *c)
{
	int64_t millionths;
	uint64_t bits;

	switch (c->type) {
	case NSX_T_I64:
		return packed_put(at, INTEGER, nsx_fold(c->u.i));
	case NSX_T_F64:
		if (nsx_real_millionths(c->u.f, &millionths))
			return packed_put(at, MILLIONTHS, nsx_fold(millionths));
		memcpy(&bits, &c->u.f, sizeof(bits));
		return packed_put(at, REAL, bits);
	case NSX_T_STR:
		return is_own(p, c->u.s) ? packed_put_text(at, c->u.s) :
					   packed_put(at, TEXT, (uintptr_t)c->u.s);
	case NSX_T_BOOL:
		return packed_put(at, TRUTH, c->u.b);
	case NSX_T_ID:
		return packed_put(at, ID, c->u.id);
	case NSX_T_NULL:
		return packed_put(at, ABSENT, 0);
	default:
		abort(); /* lists and tables are never packed, so this is a bug */
	}
}

/* Whether a cell surely equals the cell of the row before. A copied text may be overwritten, so it
 * never does.
 */
static bool is_as_before(const struct nsx_packed_rows *p,
			 const struct nsx_cell *c, const struct nsx_cell *before)
{
	return c->type == before->type && c->u.i == before->u.i &&
	       !(c->type == NSX_T_STR && is_own(p, c->u.s));
}

static bool packed_has_room(struct nsx_packed_rows *p)
{
	struct nsx_err err;
	struct nsx_chunk *c;

	if (p->last && CHUNK_SIZE - p->last->n >= MOST_BYTES)
		return true;
	c = nsx_try_alloc(1, sizeof(*c), "rows", &err);
	if (!c)
		return false;
	*(p->last ? &p->last->next : &p->first) = c;
	p->last = c;
	return true;
}

static struct nsx_cell *row_at(const struct nsx_packed_rows *p, size_t row)
{
	return (struct nsx_cell *)p->cells + row % 2 * p->ncols;
}

static bool pack_row(struct nsx_packed_rows *p, size_t row)
{
	const struct nsx_cell *cells = row_at(p, row);
	const struct nsx_cell *before = row_at(p, row + 1);
	unsigned nmask = (p->ncols + 7) / 8;
	unsigned char *start, *at;
	uint64_t mask = 0;

	if (!packed_has_room(p))
		return false;
	start = p->last->bytes + p->last->n;
	at = start + nmask;
	for (unsigned c = 0; c < p->ncols; c++)
		if (!is_as_before(p, &cells[c], &before[c])) {
			mask |= UINT64_C(1) << c;
			at = packed_put_cell(p, at, &cells[c]);
		}
	mask = htole64(mask);
	memcpy(start, &mask, nmask);
	p->last->n = (size_t)(at - p->last->bytes);
	return true;
}

struct nsx_cell *nsx_packed_add(struct nsx_packed_rows *p, bool *is_short)
{
	if (p->n && !pack_row(p, p->n - 1))
		*is_short = true;
	else
		p->n++;
	p->ntexts = 0;
	return memset(row_at(p, p->n - 1), 0, p->ncols * sizeof(*p->cells));
}

/* Reading ------------------------------------------------------------------*/

static const unsigned char *read_cell_head(const unsigned char *at, enum kind *kind, uint64_t *x)
{
	unsigned n = *at & 15;

	*kind = (enum kind)(*at++ >> 4);
	memcpy(x, at, 8);
	*x = le64toh(*x) & nsx_pack_mask[n];
	return at + n;
}

static const unsigned char *get_cell(const unsigned char *at, struct nsx_cell *c)
{
	enum kind kind;
	const char *text;
	uintptr_t address;
	uint64_t x;
	double f;

	at = read_cell_head(at, &kind, &x);
	switch (kind) {
	case ABSENT:
		*c = nsx_null();
		break;
	case INTEGER:
		*c = nsx_int(nsx_unfold(x));
		break;
	case REAL:
		memcpy(&f, &x, sizeof(f));
		*c = nsx_real(f);
		break;
	case MILLIONTHS:
		*c = nsx_real((double)nsx_unfold(x) / 1e6);
		break;
	case TEXT:
		address = (uintptr_t)x;
		memcpy(&text, &address, sizeof(text));
		*c = nsx_string(text);
		break;
	case OWN_TEXT:
		*c = nsx_string((const char *)at);
		at += x;
		break;
	case TRUTH:
		*c = nsx_bool(x);
		break;
	case ID:
		*c = (struct nsx_cell){NSX_T_ID, {.id = (nsx_str)x}};
	}
	return at;
}

static const struct nsx_cell *unpack_row(struct nsx_row_reader *r, size_t row)
{
	const struct nsx_packed_rows *p = r->t->packed;
	struct nsx_cell *cells = r->live[row % NSX_LIVE_ROWS];
	uint64_t mask = 0;

	if (!r->chunk || r->at == r->chunk->bytes + r->chunk->n) {
		r->chunk = r->chunk ? r->chunk->next : p->first;
		r->at = r->chunk->bytes;
	}
	memcpy(cells, r->live[(row + NSX_LIVE_ROWS - 1) % NSX_LIVE_ROWS],
	       p->ncols * sizeof(*cells));
	memcpy(&mask, r->at, (p->ncols + 7) / 8);
	r->at += (p->ncols + 7) / 8;
	for (mask = le64toh(mask); mask; mask &= mask - 1)
		r->at = get_cell(r->at, &cells[__builtin_ctzll(mask)]);
	return cells;
}

const struct nsx_cell *nsx_next_row(struct nsx_row_reader *r)
{
	const struct nsx_table *t = r->t;
	size_t row = r->row;

	if (row == t->nrows + (t->packed ? nsx_packed_count(t->packed) : 0))
		return NULL;
	r->row++;
	if (row < t->nrows)
		return nsx_row_at(t, row);
	row -= t->nrows;
	return row + 1 < t->packed->n ? unpack_row(r, row) : row_at(t->packed, row);
}
