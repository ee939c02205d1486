/* body.c - the sections of a report, each folded, with their tables. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "emit/html/html.h"

static bool is_number(enum nsx_type type)
{
	return type == NSX_T_I64 || type == NSX_T_F64;
}

/* Numbers as in Markdown; what they are sorted by is exact. */
static void add_cell(struct nsx_buf *b, const struct nsx_cell *c)
{
	switch (c->type) {
	case NSX_T_I64:
		nsx_buf_printf(b, "<td class=\"r\" data-v=\"%" PRId64 "\">%"
				  PRId64, c->u.i, c->u.i);
		break;
	case NSX_T_F64:
		nsx_buf_printf(b, "<td class=\"r\" data-v=\"%.17g\">%.4g",
			       c->u.f, c->u.f);
		break;
	case NSX_T_BOOL:
		nsx_buf_printf(b, "<td>%s", c->u.b ? "yes" : "no");
		break;
	case NSX_T_STR:
		nsx_buf_adds(b, "<td>");
		nsx_html_textn(b, c->u.s, strnlen(c->u.s, NSX_MAX_TEXT));
		break;
	default:
		nsx_buf_adds(b, "<td>–");
	}
	nsx_buf_adds(b, "</td>");
}

/* number: of the tables of the page; regions need names of their own. */
static void add_table(struct nsx_buf *b, const struct nsx_block *block,
		      unsigned number)
{
	const struct nsx_table *t = block->table;
	const struct nsx_col *cols = t->layout->cols;
	size_t n = NSX_MIN(t->nrows, block->max_rows);

	if (!n)
		return;
	nsx_buf_printf(b, "<div class=\"wide\" tabindex=\"0\" "
			  "role=\"region\" aria-label=\"table %u\"><table "
			  "class=\"sorts\">", number);
	if (n < t->nrows)
		nsx_buf_printf(b, "<caption>%zu of %zu rows</caption>", n,
			       t->nrows);
	nsx_buf_adds(b, "<thead><tr>");
	for (size_t i = 0; i < block->ncolumns; i++) {
		const struct nsx_col *c = &cols[block->columns[i]];

		nsx_buf_printf(b, "<th scope=\"col\"%s title=\"",
			       is_number(c->type) ? " class=\"r\"" : "");
		nsx_html_text(b, c->help ? c->help : "");
		nsx_buf_adds(b, "\">");
		nsx_html_text(b, nsx_col_title(c));
		nsx_buf_adds(b, "</th>");
	}
	nsx_buf_adds(b, "</tr></thead><tbody>");
	for (size_t r = 0; r < n; r++) {
		nsx_buf_adds(b, "<tr>");
		for (size_t i = 0; i < block->ncolumns; i++)
			add_cell(b, &nsx_row_at(t, r)[block->columns[i]]);
		nsx_buf_adds(b, "</tr>\n");
	}
	nsx_buf_adds(b, "</tbody></table></div>");
}

static void add_block(struct nsx_buf *b, const struct nsx_block *block,
		      bool *in_list, unsigned *ntables)
{
	static const char *const tags[] = {
		[NSX_B_HEADING] = "h3", [NSX_B_SUBHEADING] = "h3",
		[NSX_B_SUBSUBHEADING] = "h4", [NSX_B_BULLET] = "li",
		[NSX_B_TEXT] = "p"};
	bool bullet = block->kind == NSX_B_BULLET;

	if (bullet != *in_list)
		nsx_buf_adds(b, bullet ? "<ul>" : "</ul>");
	*in_list = bullet;
	if (block->kind == NSX_B_TABLE) {
		add_table(b, block, ++*ntables);
		return;
	}
	nsx_buf_printf(b, "<%s>", tags[block->kind]);
	nsx_html_inline(b, block->text);
	nsx_buf_printf(b, "</%s>\n", tags[block->kind]);
}

static void add_section(struct nsx_buf *b, const struct nsx_section *s,
			unsigned *ntables)
{
	bool in_list = false;

	nsx_buf_printf(b, "<details id=\"s-%s\"><summary>", s->pass->id);
	nsx_html_text(b, s->pass->title ? s->pass->title : s->pass->summary);
	nsx_buf_adds(b, "</summary>\n");
	for (size_t i = 0; i < s->nblocks; i++)
		add_block(b, &s->blocks[i], &in_list, ntables);
	if (in_list)
		nsx_buf_adds(b, "</ul>");
	nsx_buf_adds(b, "</details>\n");
}

void nsx_html_sections(struct nsx_buf *b, const struct nsx_report *r)
{
	unsigned ntables = 0;

	for (size_t i = 0; i < r->nsections; i++)
		if (r->sections[i].status == NSX_S_ANSWERED &&
		    r->sections[i].nblocks && !r->sections[i].pass->is_verdict)
			add_section(b, &r->sections[i], &ntables);
}
