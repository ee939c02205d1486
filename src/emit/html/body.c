/* body.c - the sections of a report, each folded, with their tables. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "emit/emit.h"
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

static void add_table(struct nsx_buf *b, const struct nsx_block *block,
		      unsigned number)
{
	const struct nsx_table *t = block->table;
	const struct nsx_col *cols = t->layout->cols;
	size_t n = NSX_MIN(t->nrows, block->max_rows);

	if (!n)
		return;
	nsx_buf_printf(b, "<div class=\"wide\" tabindex=\"0\" id=\"t-%u\" "
			  "role=\"region\" aria-label=\"table %u\"><table "
			  "class=\"sorts\">", number, number);
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

/* Calls on for each block below a heading, in order. */
static void each_block(const struct nsx_report *r, const char *heading,
		       void (*on)(void *ctx, const struct nsx_block *block),
		       void *ctx)
{
	for (size_t i = 0; i < r->nsections; i++) {
		const struct nsx_section *s = &r->sections[i];
		const char *current = s->pass->title;

		for (size_t k = 0; k < s->nblocks && !s->pass->is_verdict;
		     k++)
			if (s->blocks[k].kind == NSX_B_HEADING)
				current = s->blocks[k].text;
			else if (current && !strcmp(current, heading))
				on(ctx, &s->blocks[k]);
	}
}

struct body {
	struct nsx_buf *b;
	unsigned ntables; /* regions need names of their own                 */
	bool begun, in_list;
	const struct nsx_table *wanted;
	unsigned found;
};

static void on_block(void *ctx, const struct nsx_block *block)
{
	struct body *x = ctx;

	x->begun = true;
	add_block(x->b, block, &x->in_list, &x->ntables);
}

static void on_table(void *ctx, const struct nsx_block *block)
{
	struct body *x = ctx;

	x->ntables += block->kind == NSX_B_TABLE;
	if (block->kind == NSX_B_TABLE && block->table == x->wanted &&
	    block->table->nrows)
		x->found = x->ntables;
}

unsigned nsx_html_table(const struct nsx_report *r, const struct nsx_table *t)
{
	struct nsx_arena *a = nsx_arena_new();
	struct body x = {.wanted = t};
	const char *const *v;
	size_t n = nsx_md_headings(r, a, &v);

	for (size_t i = 0; i < n; i++)
		each_block(r, v[i], on_table, &x);
	nsx_arena_free(a);
	return x.found;
}

void nsx_html_sections(struct nsx_buf *b, const struct nsx_report *r)
{
	struct nsx_arena *a = nsx_arena_new();
	struct body x = {.b = b};
	const char *const *v;
	size_t n = nsx_md_headings(r, a, &v);

	for (size_t i = 0; i < n; i++) {
		size_t at = b->n;

		nsx_buf_adds(b, "<details><summary>");
		nsx_html_text(b, v[i]);
		nsx_buf_adds(b, "</summary>\n");
		x.begun = x.in_list = false;
		each_block(r, v[i], on_block, &x);
		nsx_buf_adds(b, x.in_list ? "</ul></details>\n" :
					    "</details>\n");
		if (!x.begun)
			b->n = at; /* nothing to tell */
	}
	nsx_arena_free(a);
}
