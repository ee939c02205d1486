/* table.c - rows, lookup, and sorting by a list of keys. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/stat.h"
#include "report/table.h"

void nsx_table_begin(struct nsx_table *t, const struct nsx_layout *layout)
{
	*t = (struct nsx_table){.layout = layout};
	nsx_grow_or_die(&t->cells, &t->cap, layout->ncols, sizeof(*t->cells));
}

void nsx_table_expect(struct nsx_table *t, size_t n, size_t max_rows)
{
	size_t held = max_rows && n > max_rows ? max_rows + 2 :
						 NSX_MAX(n, (size_t)1);
	struct nsx_cell *cells;
	struct nsx_err err;

	cells = nsx_try_alloc(held * t->layout->ncols, sizeof(*cells),
			      t->layout->key, &err);
	if (!cells)
		return; /* rows are added one by one, while there is room */
	free(t->cells);
	t->cells = cells;
	t->cap = held * t->layout->ncols;
	t->max_rows = held < n ? max_rows : 0;
}

void nsx_add_cells(const struct nsx_layout *l, const struct nsx_cell *row,
		   struct nsx_cell *sums)
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

/* Behind the rows that are held: the sums, and the last row that was given, whose
 * cells are in no sum yet.
 */
static struct nsx_cell *next_of_rest(struct nsx_table *t)
{
	unsigned n = t->layout->ncols;
	struct nsx_cell *sums = t->cells + t->max_rows * n, *last = sums + n;

	if (t->nrest++)
		nsx_add_cells(t->layout, last, sums);
	return memset(last, 0, n * sizeof(*last));
}

size_t nsx_add_rest(const struct nsx_table *t, struct nsx_cell *sums)
{
	for (size_t i = 0; t->nrest && i < 2; i++)
		nsx_add_cells(t->layout, nsx_row_at(t, t->max_rows + i), sums);
	return t->nrest;
}

struct nsx_cell *nsx_add_row(struct nsx_table *t)
{
	unsigned n = t->layout->ncols;
	struct nsx_cell *row;
	struct nsx_err err;

	if (t->max_rows && t->nrows == t->max_rows)
		return next_of_rest(t);
	if (!nsx_grow(&t->cells, &t->cap, (t->nrows + 1) * n, sizeof(*t->cells),
		      t->layout->key, &err))
		return t->cells + t->nrows++ * n;
	t->is_short = true;
	t->nrows = NSX_MAX(t->nrows, 1); /* nsx_table_begin made room for it */
	row = t->cells + (t->nrows - 1) * n;
	memset(row, 0, n * sizeof(*row));
	return row;
}

int nsx_table_whole(const struct nsx_table *t, struct nsx_err *err)
{
	return !t->is_short ? 0 :
			      nsx_fail(err, NSX_E_NOMEM,
				       "out of memory for rows of its tables");
}

int nsx_table_col(const struct nsx_table *t, const char *key)
{
	for (unsigned i = 0; i < t->layout->ncols; i++)
		if (!strcmp(t->layout->cols[i].key, key))
			return (int)i;
	return -1;
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

/* Where decimal digits are counted in a long double: every power of ten that is
 * needed is exact in one.
 */
static bool is_counted(double x)
{
	return LDBL_MANT_DIG >= 64 && fabs(x) >= 1e-9 && fabs(x) < 1e15;
}

/* floor(log10(x)), or one less. */
static int exponent_of(double x)
{
	return (int)floor(log10(fabs(x)) - 1e-9);
}

/* x, its point moved so that `digits` digits stand before it; off by 0.005 at
 * most.
 */
static long double move_point(double x, int exponent, int digits)
{
	static const long double powers[] = {
		1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
		1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
		1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
		1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

	return fabsl(x) * powers[NSX_MAX(digits - 1 - exponent, 0)];
}

/* The fewest digits, of 15 to 17, that may tell x: a number of so many digits is
 * no farther from it than another double would be.
 */
static int least_digits(double x)
{
	int exponent, digits;

	if (!is_counted(x))
		return 15;
	exponent = exponent_of(x); /* one too low rules out less */
	for (digits = 15; digits < 17; digits++) {
		long double scaled = move_point(x, exponent, digits), rest;

		rest = fabsl(scaled - roundl(scaled));
		if (rest <= scaled * 0x1p-53L + 0.01L)
			break;
	}
	return digits;
}

/* What %.*g prints, for a fraction of its time.  False: too near to where it
 * rounds the other way, or too small or too large a number.
 */
static bool print_digits(char text[NSX_REAL_SIZE], double x, int digits)
{
	int exponent = is_counted(x) ? exponent_of(x) : 0, n = digits;
	char digit[24];
	long double scaled;
	uint64_t whole;

	if (!is_counted(x))
		return false;
	scaled = move_point(x, exponent, digits);
	if (fabsl(scaled - truncl(scaled) - 0.5L) < 0.01L)
		return false;
	whole = (uint64_t)(scaled + 0.5L);
	for (int i = digits - 1; i >= 0; i--, whole /= 10)
		digit[i] = (char)('0' + whole % 10);
	if (whole || digit[0] == '0')
		return false; /* more digits, or fewer */
	while (n > 1 && n > exponent + 1 && digit[n - 1] == '0')
		n--;
	if (x < 0)
		*text++ = '-';
	if (exponent < -4) { /* to -9: is_counted() */
		text[0] = digit[0];
		text[1] = '.';
		memcpy(text + 2, digit + 1, (size_t)n - 1);
		text += n > 1 ? n + 1 : 1;
		memcpy(text, "e-0", 3);
		text[3] = (char)('0' - exponent);
		text[4] = '\0';
		return true;
	}
	if (exponent < 0) {
		*text++ = '0';
		*text++ = '.';
		for (int i = exponent; i < -1; i++)
			*text++ = '0';
	}
	for (int i = 0; i < n; i++) {
		*text++ = digit[i];
		if (i == exponent && i + 1 < n)
			*text++ = '.';
	}
	*text = '\0';
	return true;
}

void nsx_real_text(char text[NSX_REAL_SIZE], double x)
{
	for (int digits = least_digits(x); digits <= 17; digits++) {
		if (!print_digits(text, x, digits))
			snprintf(text, NSX_REAL_SIZE, "%.*g", digits, x);
		if (digits == 17 || strtod(text, NULL) == x)
			break;
	}
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
	const struct nsx_cell *c =
		&nsx_row_at(t, row)[nsx_table_need(t, key)];

	return c->type == NSX_T_I64 ? (double)c->u.i :
	       c->type == NSX_T_F64 ? c->u.f : 0;
}

const char *nsx_table_text(const struct nsx_table *t, size_t row,
			   const char *key)
{
	const struct nsx_cell *c =
		&nsx_row_at(t, row)[nsx_table_need(t, key)];

	return c->type == NSX_T_STR ? c->u.s : "";
}

/* Sorting --------------------------------------------------------------*/

struct order {
	const int *key;
	size_t n;
};

static int cmp_cell(const struct nsx_cell *a, const struct nsx_cell *b)
{
	int order;

	if (a->type != b->type && (!a->type || !b->type))
		return a->type ? -2 : 2; /* nulls last, whatever the direction */
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

static int cmp_rows(const void *pa, const void *pb, void *ctx)
{
	const struct order *o = ctx;
	const struct nsx_cell *a = pa, *b = pb;

	for (size_t i = 0; i < o->n; i++) {
		bool desc = o->key[i] < 0;
		int col = desc ? ~o->key[i] : o->key[i];
		int c = cmp_cell(&a[col], &b[col]);

		if (c)
			return desc && abs(c) == 1 ? -c : c;
	}
	return 0;
}

/* Of the first column; nulls last.  A text is not a number: it may be the same. */
static int64_t key_of(const void *row, void *ctx)
{
	int id = *((const struct order *)ctx)->key;
	const struct nsx_cell *c = (const struct nsx_cell *)row +
				   (id < 0 ? ~id : id);
	int64_t key = c->type == NSX_T_I64 ? c->u.i :
		      c->type == NSX_T_F64 ? nsx_real_key(c->u.f) : 0;

	return !c->type ? INT64_MAX : id < 0 ? ~key : key;
}

/* glibc's qsort_r is a stable merge sort unless memory is short; where rows
 * compare equal on all keys of an order they are told apart by it no further,
 * so orders name enough keys to be total.
 */
void nsx_table_sort_by(struct nsx_table *t, const int *order, size_t n)
{
	struct order o = {order, n};
	size_t row_size = t->layout->ncols * sizeof(*t->cells);
	struct nsx_cell *cells;

	for (size_t i = 0; i < n; i++)
		if ((order[i] < 0 ? ~order[i] : order[i]) >=
		    (int)t->layout->ncols)
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
	nsx_sort_by_key_r(t->cells, t->nrows, row_size, key_of, cmp_rows, &o);
}

const char *nsx_col_title(const struct nsx_col *c)
{
	const char *dot = strrchr(c->key, '.');

	return c->title ? c->title : dot ? dot + 1 : c->key;
}
