/* csv.c - writes a table as CSV (RFC 4180); the only user of libcsv.
 *
 * Numbers are written in the shortest form that reads back the same. Texts go through libcsv,
 * which doubles quotes. A text that a spreadsheet would read as a formula (it begins with = + - @,
 * a tab or a carriage return) gets a leading apostrophe, and so does one that begins with an
 * apostrophe; removing one leading apostrophe restores the text.
 */
#include <csv.h>
#include <math.h>
#include "base/real.h"
#include "base/stat.h"
#include "emit/emit.h"

/* Whether a text needs quotes; blanks at its ends do, because some readers trim them. */
static bool needs_quotes(const char *s, size_t n)
{
	return s[strcspn(s, ",\"\r\n")] || (n && (strchr(" \t", s[0]) || strchr(" \t", s[n - 1])));
}

static void csv_put_text(struct nsx_buf *b, const char *s)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf escaped = {0};
	size_t n = strlen(s), room;

	if (n && strchr("=+-@'\t\r", *s)) {
		nsx_buf_adds(&escaped, "'");
		nsx_buf_add(&escaped, s, n++);
		s = escaped.p;
	}
	if (!needs_quotes(s, n)) {
		nsx_buf_add(b, s, n);
	} else if (!memchr(s, '"', n)) {
		nsx_buf_add(b, "\"", 1);
		nsx_buf_add(b, s, n);
		nsx_buf_add(b, "\"", 1);
	} else {
		room = 2 * n + 2;
		b->n += csv_write(nsx_buf_room(b, room), room, s, n);
	}
}

static void put_integer(struct nsx_buf *b, int64_t i)
{
	char text[24], *end = text + sizeof(text), *p;

	p = nsx_digits_before(end, i < 0 ? -(uint64_t)i : (uint64_t)i);
	if (i < 0)
		*--p = '-';
	nsx_buf_add(b, p, (size_t)(end - p));
}

/* Most reals are nanoseconds in a larger unit, with at most six decimals. This gives the
 * text of %.15g much faster.
 */
static bool put_millionths(struct nsx_buf *b, double x)
{
	char text[40], *end = text + sizeof(text), *p = end;
	uint64_t millionths;
	int ndecimals = 6;
	int64_t is;

	if ((fabs(x) < 1e-4 && x != 0) || !nsx_real_millionths(x, &is))
		return false;
	millionths = (uint64_t)(is < 0 ? -is : is);
	for (; ndecimals > 1 && millionths % 10 == 0; ndecimals--)
		millionths /= 10;
	for (; ndecimals; ndecimals--, millionths /= 10)
		*--p = (char)('0' + millionths % 10);
	*--p = '.';
	p = nsx_digits_before(p, millionths);
	if (x < 0)
		*--p = '-';
	nsx_buf_add(b, p, (size_t)(end - p));
	return true;
}

static void put_real(struct nsx_buf *b, double x)
{
	char text[NSX_REAL_SIZE];

	if (put_millionths(b, x))
		return;
	nsx_real_text(text, x);
	nsx_buf_adds(b, text);
	if (!strpbrk(text, ".eE"))
		nsx_buf_adds(b, ".0");
}

/* Buffers that are reused for every line. name holds an unpacked text. */
struct line {
	struct nsx_buf text, name;
	const struct nsx_strings *strings;
};

static void csv_put_cell(struct line *line, const struct nsx_cell *c)
{
	struct nsx_buf *b = &line->text;

	switch (c->type) {
	case NSX_T_I64:
		put_integer(b, c->u.i);
		break;
	case NSX_T_F64:
		put_real(b, c->u.f);
		break;
	case NSX_T_BOOL:
		nsx_buf_adds(b, c->u.b ? "True" : "False");
		break;
	case NSX_T_STR:
		csv_put_text(b, c->u.s);
		break;
	case NSX_T_ID:
		csv_put_text(b, nsx_str_read(line->strings, c->u.id, &line->name));
		break;
	default:
		break;
	}
}

/* Writes a row; row NULL: the header. */
static void csv_put_row(FILE *out, struct line *line,
			const struct nsx_layout *layout, const struct nsx_cell *row)
{
	struct nsx_buf *b = &line->text;
	bool first = true;

	nsx_buf_clear(b);
	for (unsigned c = 0; c < layout->ncols; c++) {
		const struct nsx_col *col = &layout->cols[c];

		if (!nsx_is_scalar(col->type))
			continue;
		if (!first)
			nsx_buf_add(b, ",", 1);
		first = false;
		if (row)
			csv_put_cell(line, &row[c]);
		else
			csv_put_text(b, col->is_exact ? col->title : col->key);
	}
	nsx_buf_add(b, "\r\n", 2);
	fwrite(b->p, 1, b->n, out);
}

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

static void put_row_for_rest(FILE *out, struct line *line,
			     const struct nsx_layout *l, struct nsx_cell *rest, size_t n)
{
	char text[40];

	snprintf(text, sizeof(text), "(%zu more rows)", n);
	for (unsigned c = 0; c < l->ncols; c++)
		if (l->cols[c].type == NSX_T_STR) {
			rest[c] = nsx_string(text);
			break;
		}
	csv_put_row(out, line, l, rest);
}

/* Writes rows. kept NULL: all rows. Rows that are not kept are summed up in rest. */
static int put_rows(FILE *out, struct line *line, const struct nsx_table *t,
		    const bool *kept, struct nsx_cell *rest, size_t *nrest, struct nsx_err *err)
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
			csv_put_row(out, line, t->layout, row);
		} else {
			nsx_add_cells(t->layout, row, rest);
			++*nrest;
		}
	}
	return 0;
}

int nsx_emit_csv(const struct nsx_layout *layout, const struct nsx_table *t,
		 const struct nsx_bound *bound, FILE *out, struct nsx_err *err)
{
	struct nsx_cell rest[NSX_MAX_COLUMNS] = {{0}};
	struct line line = {.strings = t ? t->strings : NULL};
	bool *kept = NULL;
	size_t nrest = 0;
	int rc = 0;

	/* A table with packed rows already holds no more rows than the limit. */
	if (t && bound && bound->max_rows && t->nrows > bound->max_rows) {
		kept = choose_rows(t, bound, err);
		if (!kept)
			return err->rc;
	}
	csv_put_row(out, &line, layout, NULL);
	if (t)
		rc = put_rows(out, &line, t, kept, rest, &nrest, err);
	if (!rc && t)
		nrest += nsx_add_rest(t, rest);
	if (!rc && nrest)
		put_row_for_rest(out, &line, layout, rest, nrest);
	nsx_buf_done(&line.text);
	nsx_buf_done(&line.name);
	free(kept);
	return rc;
}

int nsx_write_table(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_table *t = f->subject;

	return nsx_emit_csv(t->layout, t, f->detail, out, err);
}

void nsx_folder_add_table(struct nsx_folder *f, const struct nsx_table *t,
			  const struct nsx_bound *bound)
{
	struct nsx_out_file *file = &f->files[f->nfiles++];

	*file = (struct nsx_out_file){.write = nsx_write_table, .subject = t,
				      .detail = bound};
	snprintf(file->name, sizeof(file->name), "tables/%s.csv", t->layout->csv);
}
