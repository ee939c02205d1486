/* body.c - the foldable sections of a report with their tables. */
#include <inttypes.h>
#include "emit/emit.h"
#include "emit/html/html.h"
#include "emit/md_table.h"

enum { MAX_ROWS = 25, MAX_COLUMNS = 40, MAX_CHARS = 1000 };

struct body {
	struct nsx_buf *b;
	const struct nsx_report *r;
	struct nsx_arena *a;
	bool in_list;
};

/* Tables --------------------------------------------------------------------------*/

/* Cuts text at MAX_CHARS between two characters. */
static void body_add_text(struct nsx_buf *b, const char *s)
{
	size_t n = nsx_cut_chars(s, strnlen(s, MAX_CHARS));

	nsx_html_textn(b, s, n);
	nsx_buf_adds(b, s[n] ? "…" : "");
}

/* The proof that cites a cell, which gets the anchor e-FINDING-PROOF. */
static const struct nsx_evidence *proof_of_cell(const struct nsx_report *r,
						 const struct nsx_table *t, size_t row, int col,
						size_t *ret_finding, size_t *ret_proof)
{
	for (size_t i = 0; i < r->found.n; i++)
		NSX_EACH_PROOF(&r->found.v[i], k) {
			const struct nsx_evidence *e = &r->found.v[i].proof[k];

			if (e->table != t || e->row != row || (col >= 0 && e->col != (unsigned)col))
				continue;
			*ret_finding = i;
			*ret_proof = k;
			return e;
		}
	return NULL;
}

/* Shows a cell as in Markdown, with the exact value for sorting, and the full name behind a
 * shortened one.
 */
static void body_add_cell(struct body *x, const struct nsx_col *col, const struct nsx_cell *c)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf said = {0};

	nsx_md_add_cell(&said, x->a, col, c, x->r);
	if (c->type == NSX_T_I64) {
		nsx_buf_printf(x->b, " class=\"r\" data-v=\"%" PRId64 "\"", c->u.i);
	} else if (c->type == NSX_T_F64) {
		nsx_buf_printf(x->b, " class=\"r\" data-v=\"%.17g\"", c->u.f);
	} else if (c->type == NSX_T_STR && said.p && strcmp(said.p, c->u.s)) {
		nsx_buf_adds(x->b, " title=\"");
		body_add_text(x->b, c->u.s);
		nsx_buf_adds(x->b, "\"");
	}
	nsx_buf_adds(x->b, ">");
	nsx_html_inline(x->b, said.p ? said.p : "");
}

static void body_add_row(struct body *x, const struct nsx_table *t, size_t row,
			 const struct nsx_cell *cells, const int *columns, size_t ncolumns)
{
	size_t finding, proof;

	nsx_buf_adds(x->b, "<tr>");
	for (size_t i = 0; i < ncolumns; i++) {
		nsx_buf_adds(x->b, "<td");
		if (proof_of_cell(x->r, t, row, columns[i], &finding, &proof))
			nsx_buf_printf(x->b, " id=\"e-%zu-%zu\"", finding, proof);
		body_add_cell(x, &t->layout->cols[columns[i]], &cells[columns[i]]);
		nsx_buf_adds(x->b, "</td>");
	}
	nsx_buf_adds(x->b, "</tr>\n");
}

/* Shows the first rows, and later ones that are cited as proof. */
static void body_add_table(struct body *x, const struct nsx_table *t,
			   const int *columns, size_t ncolumns)
{
	const struct nsx_report *r = x->r;
	struct nsx_buf *b = x->b;
	size_t n = NSX_MIN(t->nrows, (size_t)MAX_ROWS), finding, proof;
	const struct nsx_col *cols = t->layout->cols;
	unsigned number = nsx_html_table(r, t);

	if (!n)
		return;
	nsx_buf_printf(b, "<div class=\"wide\" tabindex=\"0\" id=\"t-%u\" role=\"region\" "
			  "aria-label=\"table %u\"><table class=\"sorts\">", number, number);
	if (n < t->nrows && t->layout->csv)
		nsx_buf_printf(b, "<caption>%zu of %zu rows of tables/%s.csv"
				  "</caption>", n, nsx_table_total(t), t->layout->csv);
	nsx_buf_adds(b, "<thead><tr>");
	for (size_t i = 0; i < ncolumns; i++) {
		const struct nsx_col *c = &cols[columns[i]];

		nsx_buf_printf(b, "<th scope=\"col\"%s title=\"",
			       c->type == NSX_T_I64 || c->type == NSX_T_F64 ? " class=\"r\"" : "");
		nsx_html_text(b, c->help ? c->help : "");
		nsx_buf_adds(b, "\">");
		nsx_md_add_title(b, c);
		nsx_buf_adds(b, "</th>");
	}
	nsx_buf_adds(b, "</tr></thead><tbody>");
	for (size_t row = 0; row < n; row++)
		body_add_row(x, t, row, nsx_row_at(t, row), columns, ncolumns);
	for (size_t i = 0; i < r->found.n; i++)
		NSX_EACH_PROOF(&r->found.v[i], k) {
			const struct nsx_evidence *e = &r->found.v[i].proof[k];

			if (e->table == t && e->row >= n &&
			    e == proof_of_cell(r, t, e->row, -1, &finding, &proof))
				body_add_row(x, t, e->row, e->cells, columns, ncolumns);
		}
	nsx_buf_adds(b, "</tbody></table></div>");
}

/* The block that shows a table; NULL: none does. */
static const struct nsx_block *block_of_table(const struct nsx_section *s,
					      const struct nsx_table *t)
{
	return NSX_FIRST(i, !s->pass->is_verdict ? s->nblocks : 0,
			 s->blocks[i].kind == NSX_B_TABLE && s->blocks[i].table == t,
			 &s->blocks[i], NULL);
}

unsigned nsx_html_table(const struct nsx_report *r, const struct nsx_table *t)
{
	unsigned n = 0;

	for (size_t i = 0; i < r->nsections; i++)
		for (size_t k = 0; k < r->sections[i].ntables; k++) {
			const struct nsx_table *x = r->sections[i].tables[k];

			if (x == t)
				return n;
			/* Tables that are never shown have no number. */
			n += x->layout->csv || x->layout->json_rows != NSX_NOT_IN_JSON;
		}
	return 0;
}

bool nsx_html_has_cell(const struct nsx_report *r, const struct nsx_evidence *e,
		       size_t *ret_finding, size_t *ret_proof)
{
	proof_of_cell(r, e->table, e->row, (int)e->col, ret_finding, ret_proof);
	return !nsx_section_of(r, e->table)->pass->is_verdict;
}

/* Sections ------------------------------------------------------------------------*/

/* Adds the table as shown in Markdown, with the columns cited as proof. */
static void add_shown(struct body *x, const struct nsx_block *block)
{
	int *columns = nsx_arena_get(x->a, (block->ncolumns + block->table->layout->ncols) *
						   sizeof(*columns));
	size_t n = block->ncolumns;

	memcpy(columns, block->columns, n * sizeof(*columns));
	for (size_t i = 0; i < x->r->found.n; i++)
		NSX_EACH_PROOF(&x->r->found.v[i], k) {
			const struct nsx_evidence *e = &x->r->found.v[i].proof[k];

			if (e->table == block->table && !NSX_ANY(c, n, columns[c] == (int)e->col))
				columns[n++] = (int)e->col;
		}
	body_add_table(x, block->table, columns, n);
}

static void body_add_block(struct body *x, const struct nsx_block *block)
{
	static const char *const tags[] = {
		[NSX_B_HEADING] = "h3", [NSX_B_SUBHEADING] = "h3",
		[NSX_B_SUBSUBHEADING] = "h4", [NSX_B_BULLET] = "li",
		[NSX_B_TEXT] = "p"};
	bool bullet = block->kind == NSX_B_BULLET;

	if (bullet != x->in_list)
		nsx_buf_adds(x->b, bullet ? "<ul>" : "</ul>");
	x->in_list = bullet;
	if (block->kind == NSX_B_TABLE) {
		add_shown(x, block);
		return;
	}
	nsx_buf_printf(x->b, "<%s>", tags[block->kind]);
	nsx_html_inline(x->b, block->text);
	nsx_buf_printf(x->b, "</%s>\n", tags[block->kind]);
}

static void body_add_heading(struct body *x, const char *heading)
{
	size_t at = x->b->n, begun;

	nsx_buf_adds(x->b, "<details><summary>");
	nsx_html_text(x->b, heading);
	nsx_buf_adds(x->b, "</summary>\n");
	begun = x->b->n;
	x->in_list = false;
	for (size_t i = 0; i < x->r->nsections; i++) {
		const struct nsx_section *s = &x->r->sections[i];
		const char *current = s->pass->title;

		for (size_t k = 0; k < s->nblocks && !s->pass->is_verdict; k++)
			if (s->blocks[k].kind == NSX_B_HEADING)
				current = s->blocks[k].text;
			else if (current && !strcmp(current, heading))
				body_add_block(x, &s->blocks[k]);
	}
	if (x->b->n == begun) { /* nothing was added */
		x->b->n = at;
		return;
	}
	nsx_buf_adds(x->b, x->in_list ? "</ul></details>\n" : "</details>\n");
}

/* Adds the tables of the folder that no section shows. */
static void add_unshown_tables(struct body *x)
{
	int columns[MAX_COLUMNS];

	for (int i = 0; i < MAX_COLUMNS; i++)
		columns[i] = i;
	nsx_buf_adds(x->b, "<details><summary>Further tables</summary>\n");
	for (size_t i = 0; i < x->r->nsections; i++) {
		const struct nsx_section *s = &x->r->sections[i];

		for (size_t k = 0; k < s->ntables && !s->pass->is_verdict; k++) {
			const struct nsx_table *t = s->tables[k];

			if (!t->layout->csv || !t->nrows || block_of_table(s, t))
				continue;
			nsx_buf_printf(x->b, "<details><summary>tables/%s.csv"
					     "</summary>\n", t->layout->csv);
			body_add_table(x, t, columns, NSX_MIN(t->layout->ncols, MAX_COLUMNS));
			nsx_buf_adds(x->b, "</details>\n");
		}
	}
	nsx_buf_adds(x->b, "</details>\n");
}

void nsx_html_sections(struct nsx_buf *b, const struct nsx_report *r)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct body x = {.b = b, .r = r, .a = a};
	const char *const *v;
	size_t n = nsx_md_headings(r, a, &v);

	for (size_t i = 0; i < n; i++)
		body_add_heading(&x, v[i]);
	add_unshown_tables(&x);
}
