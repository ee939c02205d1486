/* table.c - rows, lookup, and sorting by a list of keys. */
#include <inttypes.h>
#include <stdio.h>
#include "base/real.h"
#include "base/stat.h"
#include "report/packed.h"

void nsx_table_begin(struct nsx_table *t, const struct nsx_layout *layout)
{
	*t = (struct nsx_table){.layout = layout};
	nsx_grow_or_die(&t->cells, &t->cap, layout->ncols, sizeof(*t->cells));
}

void nsx_table_done(struct nsx_table *t)
{
	free(t->cells);
	nsx_packed_free(t->packed);
}

void nsx_table_expect(struct nsx_table *t, size_t n, size_t max_rows)
{
	size_t read = max_rows ? NSX_MIN(max_rows, (size_t)NSX_READ_ROWS) : n;
	size_t room = n > read ? read + 2 : NSX_MAX(n, (size_t)1);
	struct nsx_packed_rows *packed = NULL;
	struct nsx_cell *cells;
	struct nsx_err err;

	cells = nsx_try_alloc(room * t->layout->ncols, sizeof(*cells), t->layout->key, &err);
	if (cells && n > read)
		packed = nsx_packed_new(max_rows - read, t->layout->ncols);
	if (!cells || (n > read && !packed)) {
		free(cells);
		return; /* without this memory, rows are added one by one while there is room */
	}
	free(t->cells);
	t->cells = cells;
	t->cap = room * t->layout->ncols;
	t->packed = packed;
	t->max_rows = n > max_rows ? max_rows : 0;
}

size_t nsx_table_packed(const struct nsx_table *t)
{
	return t->packed ? nsx_packed_count(t->packed) : 0;
}

size_t nsx_table_total(const struct nsx_table *t)
{
	return t->nrows + nsx_table_packed(t) + t->nrest;
}

void nsx_add_cells(const struct nsx_layout *l, const struct nsx_cell *row, struct nsx_cell *sums)
{
	for (unsigned c = 0; c < l->ncols; c++) {
		if (!l->cols[c].adds || !row[c].type)
			continue;
		sums[c].type = row[c].type;
		if (row[c].type == NSX_T_I64) {
			int64_t sum = sums[c].u.i;

			nsx_add_to(&sum, row[c].u.i);
			sums[c].u.i = sum;
		} else {
			sums[c].u.f += row[c].u.f;
		}
	}
}

/* Two rows follow the kept ones: the sums, and the row returned last, which is not in the sums
 * yet.
 */
static struct nsx_cell *next_of_rest(struct nsx_table *t)
{
	unsigned n = t->layout->ncols;
	struct nsx_cell *sums = t->cells + t->nrows * n, *last = sums + n;

	if (t->nrest++)
		nsx_add_cells(t->layout, last, sums);
	return memset(last, 0, n * sizeof(*last));
}

size_t nsx_add_rest(const struct nsx_table *t, struct nsx_cell *sums)
{
	for (size_t i = 0; t->nrest && i < 2; i++)
		nsx_add_cells(t->layout, nsx_row_at(t, t->nrows + i), sums);
	return t->nrest;
}

struct nsx_cell *nsx_add_row(struct nsx_table *t)
{
	unsigned n = t->layout->ncols;
	struct nsx_cell *row;
	struct nsx_err err;

	if (t->packed && (t->nrows + 2) * n == t->cap)
		return nsx_packed_is_full(t->packed) ? next_of_rest(t) :
			nsx_packed_add(t->packed, &t->is_short);
	if (!nsx_grow(&t->cells, &t->cap, (t->nrows + 1) * n, sizeof(*t->cells),
		      t->layout->key, &err))
		return t->cells + t->nrows++ * n;
	t->is_short = true;
	t->nrows = NSX_MAX(t->nrows, 1); /* nsx_table_begin reserved the row */
	row = t->cells + (t->nrows - 1) * n;
	memset(row, 0, n * sizeof(*row));
	return row;
}

const char *nsx_row_text(struct nsx_table *t, struct nsx_arena *a, const char *text)
{
	const char *copy = nsx_table_packed(t) ? nsx_packed_text(t->packed, text) : NULL;

	return copy ?: nsx_arena_strdup(a, text);
}

struct nsx_cell nsx_row_string(struct nsx_table *t, const struct nsx_strings *s, nsx_str id)
{
	if (!nsx_table_packed(t) || !id)
		return nsx_string(nsx_str_text(s, id));
	t->strings = s;
	return (struct nsx_cell){NSX_T_ID, {.id = id}};
}

int nsx_table_whole(const struct nsx_table *t, struct nsx_err *err)
{
	return !t->is_short ? 0 :
			      nsx_fail(err, NSX_E_NOMEM, "out of memory for rows of its tables");
}

int nsx_table_col(const struct nsx_table *t, const char *key)
{
	return NSX_FIRST(i, t->layout->ncols, !strcmp(t->layout->cols[i].key, key), (int)i, -1);
}

unsigned nsx_table_need(const struct nsx_table *t, const char *key)
{
	int col = nsx_table_col(t, key);

	if (col < 0) {
		fprintf(stderr, "nsys-explain: table '%s' has no column '%s'\n",
			t->layout->csv ? t->layout->csv : t->layout->key, key);
		abort();
	}
	return (unsigned)col;
}

const char *nsx_cell_text(struct nsx_arena *a, const struct nsx_cell *c)
{
	char text[NSX_REAL_SIZE];

	switch (c->type) {
	case NSX_T_I64:
		return nsx_arena_printf(a, "%" PRId64, c->u.i);
	case NSX_T_F64:
		nsx_real_text(text, c->u.f);
		return nsx_arena_strdup(a, text);
	case NSX_T_BOOL:
		return c->u.b ? "True" : "False";
	case NSX_T_STR:
		return c->u.s;
	default:
		return "";
	}
}

double nsx_table_number(const struct nsx_table *t, size_t row, const char *key)
{
	return nsx_cell_number(&nsx_row_at(t, row)[nsx_table_need(t, key)]);
}

const char *nsx_table_text(const struct nsx_table *t, size_t row, const char *key)
{
	const struct nsx_cell *c = &nsx_row_at(t, row)[nsx_table_need(t, key)];

	return c->type == NSX_T_STR ? c->u.s : "";
}

/* Sorting --------------------------------------------------------------*/

struct order {
	const int *key;
	size_t n;
};

int nsx_cmp_cells(const struct nsx_cell *a, const struct nsx_cell *b)
{
	int order;

	if (a->type != b->type)
		return !b->type ? -2 : !a->type ? 2 : /* nulls last in both directions */
		       NSX_CMP(a->type, b->type);
	switch (a->type) {
	case NSX_T_I64:
		return NSX_CMP(a->u.i, b->u.i);
	case NSX_T_F64:
		return NSX_CMP(a->u.f, b->u.f);
	case NSX_T_STR:
		order = strcmp(a->u.s, b->u.s);
		return (order > 0) - (order < 0);
	case NSX_T_BOOL:
		return (int)a->u.b - b->u.b;
	default:
		return 0;
	}
}

static int table_cmp_rows(const void *pa, const void *pb, void *ctx)
{
	const struct order *o = ctx;
	const struct nsx_cell *a = pa, *b = pb;

	for (size_t i = 0; i < o->n; i++) {
		bool desc = o->key[i] < 0;
		int col = desc ? ~o->key[i] : o->key[i];
		int c = nsx_cmp_cells(&a[col], &b[col]);

		if (c)
			return desc && abs(c) == 1 ? -c : c;
	}
	return 0;
}

/* The sort key of a row's first column; nulls come last. All texts have the same key. */
static int64_t first_column_key(const void *row, void *ctx)
{
	int id = *((const struct order *)ctx)->key;
	const struct nsx_cell *c = (const struct nsx_cell *)row + (id < 0 ? ~id : id);
	int64_t key = c->type == NSX_T_I64 ? c->u.i :
		      c->type == NSX_T_F64 ? nsx_real_key(c->u.f) : 0;

	return !c->type ? INT64_MAX : id < 0 ? ~key : key;
}

/* Sorts the rows. glibc's qsort_r is stable except when memory is short, so orders name enough keys
 * to be total.
 */
void nsx_table_sort_by(struct nsx_table *t, const int *order, size_t n)
{
	struct order o = {order, n};
	size_t row_size = t->layout->ncols * sizeof(*t->cells);
	struct nsx_cell *cells;

	for (size_t i = 0; i < n; i++)
		if ((order[i] < 0 ? ~order[i] : order[i]) >= (int)t->layout->ncols)
			abort();
	t->price = 0;
	for (size_t i = n; i--;)
		if (order[i] < 0)
			t->price = 1 + ~order[i];
	if (t->nrows < 2)
		return;
	cells = realloc(t->cells, t->nrows * row_size);
	if (cells) {
		t->cells = cells;
		t->cap = t->nrows * t->layout->ncols;
	}
	nsx_sort_by_key_r(t->cells, t->nrows, t->nrows, row_size, first_column_key, table_cmp_rows,
			  &o);
}

const char *nsx_col_title(const struct nsx_col *c)
{
	const char *dot = strrchr(c->key, '.');

	return c->title ? c->title : dot ? dot + 1 : c->key;
}
