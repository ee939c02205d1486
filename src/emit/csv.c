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
#include "emit/columns.h"
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

/* Appends a number of at most six decimals, as most reals are nanoseconds in a larger unit. This
 * gives the text of %.15g much faster.
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

/* A file, and buffers that are reused for every line. name holds an unpacked text. */
struct line {
	FILE *out;
	const struct nsx_layout *layout;
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
static void csv_put_row(void *ctx, const struct nsx_cell *row)
{
	struct line *line = ctx;
	const struct nsx_layout *layout = line->layout;
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
			csv_put_text(b, nsx_col_in_file(col));
	}
	nsx_buf_add(b, "\r\n", 2);
	fwrite(b->p, 1, b->n, line->out);
}

int nsx_emit_csv(const struct nsx_layout *layout, const struct nsx_table *t,
		 const struct nsx_bound *bound, FILE *out, struct nsx_err *err)
{
	struct line line = {out, layout, .strings = t ? t->strings : NULL};
	int rc;

	csv_put_row(&line, NULL);
	rc = t ? nsx_emit_rows(t, bound, csv_put_row, &line, err) : 0;
	nsx_buf_done(&line.text);
	nsx_buf_done(&line.name);
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
