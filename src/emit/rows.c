/* rows.c - which rows of a table are written to a file, and in what order. */
#include <math.h>
#include "base/stat.h"
#include "emit/emit.h"

/* Prefetches a later row and its texts, because rows and texts are scattered in memory. */
static const struct nsx_cell *fetch_row(struct nsx_row_reader *reader)
{
	const struct nsx_cell *row = nsx_next_row(reader);

	for (unsigned c = 0; row && c < reader->t->layout->ncols; c++)
		if (row[c].type == NSX_T_STR) {
			__builtin_prefetch(row[c].u.s);
			__builtin_prefetch(row[c].u.s + 64);
		} else if (row[c].type == NSX_T_ID) {
			nsx_str_fetch(reader->t->strings, 0, 0, row[c].u.id);
		}
	return row;
}

/* Prefetches the texts of a row that was prefetched some rows ago. */
static void fetch_texts(const struct nsx_table *t, const struct nsx_cell *row)
{
	for (unsigned c = 0; row && c < t->layout->ncols; c++)
		if (row[c].type == NSX_T_ID)
			nsx_str_fetch(t->strings, row[c].u.id, 0, 0);
}

/* Tables with a row limit ------------------------------------------------------------ */

static double row_price(const struct nsx_table *t, size_t row)
{
	const struct nsx_cell *c = &nsx_row_at(t, row)[t->price - 1];

	return c->type == NSX_T_I64 ? (double)c->u.i : c->type == NSX_T_F64 ? c->u.f : -INFINITY;
}

static int cmp_row_prices(const void *a, const void *b, void *table)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	double px = row_price(table, x), py = row_price(table, y);

	return px != py ? (px < py) - (px > py) : (x > y) - (x < y);
}

/* Chooses the rows to write. kept[i]: row i is written. Owner: the caller, free(). */
static bool *choose_rows(const struct nsx_table *t, const struct nsx_bound *b, struct nsx_err *err)
{
	bool *kept = nsx_try_alloc(t->nrows, sizeof(*kept), t->layout->csv, err);
	NSX_AT_EXIT(nsx_free_at) size_t *order =
		nsx_try_alloc(t->nrows, sizeof(*order), t->layout->csv, err);

	if (!kept || !order) {
		free(kept);
		return NULL;
	}
	for (size_t i = 0; i < t->nrows; i++)
		order[i] = i;
	if (t->price)
		nsx_sort_r(order, t->nrows, sizeof(*order), cmp_row_prices, (void *)t);
	for (size_t i = 0; i < b->max_rows; i++)
		kept[order[i]] = true;
	for (size_t i = 0; i < b->nkeep; i++)
		kept[b->keep[i]] = true;
	return kept;
}

/* Names the row that stands for n others, in its first text column. */
static void name_rest(const struct nsx_layout *l, struct nsx_cell *rest, char *text, size_t size,
		      size_t n)
{
	snprintf(text, size, "(%zu more rows)", n);
	for (unsigned c = 0; c < l->ncols; c++)
		if (l->cols[c].type == NSX_T_STR) {
			rest[c] = nsx_string(text);
			break;
		}
}

/* Passes on rows. kept NULL: all rows. Rows that are not kept are summed up in rest. */
static int pass_rows(const struct nsx_table *t, const bool *kept, nsx_put_row_fn put, void *ctx,
		     struct nsx_cell *rest, size_t *nrest, struct nsx_err *err)
{
	struct nsx_row_reader reader = nsx_read_rows(t);
	const struct nsx_cell *ahead[NSX_LIVE_ROWS] = {0}, *row;

	for (size_t r = 0; r < NSX_LIVE_ROWS - 1; r++)
		ahead[r] = fetch_row(&reader);
	for (size_t r = 0; (row = ahead[r % NSX_LIVE_ROWS]); r++) {
		if (r % 65536 == 0 && nsx_stopped(err))
			return err->rc;
		ahead[(r - 1) % NSX_LIVE_ROWS] = fetch_row(&reader);
		fetch_texts(t, ahead[(r + NSX_LIVE_ROWS / 2) % NSX_LIVE_ROWS]);
		if (!kept || kept[r]) {
			put(ctx, row);
		} else {
			nsx_add_cells(t->layout, row, rest);
			++*nrest;
		}
	}
	return 0;
}

int nsx_emit_rows(const struct nsx_table *t, const struct nsx_bound *bound, nsx_put_row_fn put,
		  void *ctx, struct nsx_err *err)
{
	struct nsx_cell rest[NSX_MAX_COLUMNS] = {{0}};
	NSX_AT_EXIT(nsx_free_at) bool *kept = NULL;
	size_t nrest = 0;
	char text[40];

	/* A table with packed rows already holds no more rows than the limit. */
	if (bound && bound->max_rows && t->nrows > bound->max_rows) {
		kept = choose_rows(t, bound, err);
		if (!kept)
			return err->rc;
	}
	if (pass_rows(t, kept, put, ctx, rest, &nrest, err))
		return err->rc;
	nrest += nsx_add_rest(t, rest);
	if (nrest) {
		name_rest(t->layout, rest, text, sizeof(text), nrest);
		put(ctx, rest);
	}
	return 0;
}
