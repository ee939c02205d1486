/* plain.c - a section as lines for a terminal: columns are aligned. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "emit/emit.h"
#include "report/text.h"

enum { CELL_CHARS = 60, MAX_COLUMNS = 32 };

/* A cell's text: names are cut, numbers have at most six digits of a real. */
static void cell_text(struct nsx_buf *b, const struct nsx_cell *c)
{
	size_t n = 0;

	nsx_buf_clear(b);
	switch (c->type) {
	case NSX_T_I64:
		nsx_buf_printf(b, "%" PRId64, c->u.i);
		break;
	case NSX_T_F64:
		nsx_buf_printf(b, "%.6g", c->u.f);
		break;
	case NSX_T_BOOL:
		nsx_buf_adds(b, c->u.b ? "yes" : "no");
		break;
	case NSX_T_STR:
		for (const char *s = c->u.s; *s && n < CELL_CHARS; n++) {
			size_t length;
			uint32_t code = nsx_code_point(s, &length);

			if (nsx_is_unsafe(code))
				nsx_buf_adds(b, "?");
			else
				nsx_buf_add(b, s, length);
			s += length;
		}
		nsx_buf_adds(b, n == CELL_CHARS ? "…" : "");
		break;
	default:
		nsx_buf_adds(b, "-");
	}
}

static void pad(struct nsx_buf *b, const char *text, size_t width, bool right)
{
	size_t n = nsx_count_chars(text, strlen(text));

	for (size_t i = n; right && i < width; i++)
		nsx_buf_adds(b, " ");
	nsx_buf_adds(b, text);
	for (size_t i = n; !right && i < width; i++)
		nsx_buf_adds(b, " ");
}

/* Row r of the block's table; r == SIZE_MAX: the headings. */
static void row_cell(const struct nsx_block *block, size_t r, size_t i,
		     struct nsx_buf *text)
{
	const struct nsx_table *t = block->table;

	if (r == SIZE_MAX) {
		nsx_buf_clear(text);
		nsx_buf_adds(text,
			     nsx_col_title(&t->layout->cols[block->columns[i]]));
	} else {
		cell_text(text, &nsx_row_at(t, r)[block->columns[i]]);
	}
}

static void add_table(struct nsx_buf *b, const struct nsx_block *block)
{
	const struct nsx_table *t = block->table;
	size_t width[MAX_COLUMNS] = {0};
	size_t n = NSX_MIN(t->nrows, block->max_rows);
	size_t ncolumns = NSX_MIN(block->ncolumns, (size_t)MAX_COLUMNS);
	struct nsx_buf text = {0};

	for (size_t r = 0; r <= n; r++)
		for (size_t i = 0; i < ncolumns; i++) {
			row_cell(block, r ? r - 1 : SIZE_MAX, i, &text);
			width[i] = NSX_MAX(width[i],
					   nsx_count_chars(text.p, text.n));
		}
	for (size_t r = 0; r <= n && t->nrows; r++) {
		for (size_t i = 0; i < ncolumns; i++) {
			enum nsx_type type =
				t->layout->cols[block->columns[i]].type;

			row_cell(block, r ? r - 1 : SIZE_MAX, i, &text);
			nsx_buf_adds(b, i ? "  " : "");
			pad(b, text.p, i + 1 < ncolumns || type != NSX_T_STR ?
					       width[i] : 0,
			    type == NSX_T_I64 || type == NSX_T_F64);
		}
		nsx_buf_adds(b, "\n");
	}
	if (n < t->nrows)
		nsx_buf_printf(b, "%zu of %zu rows\n", n, nsx_table_total(t));
	nsx_buf_done(&text);
}

void nsx_emit_plain_section(const struct nsx_section *s, struct nsx_buf *b)
{
	if (s->status == NSX_S_CANNOT)
		nsx_buf_printf(b, "cannot tell: %s\n", s->reason);
	for (size_t i = 0; i < s->nblocks; i++) {
		const struct nsx_block *block = &s->blocks[i];

		if (block->kind == NSX_B_TABLE) {
			add_table(b, block);
			continue;
		}
		nsx_buf_adds(b, block->kind == NSX_B_BULLET ? "- " : "");
		nsx_md_add_plain(b, block->text);
		nsx_buf_adds(b, "\n");
	}
	for (size_t i = 0; i < s->nnotes; i++) {
		nsx_buf_adds(b, "note: ");
		nsx_md_add_plain(b, s->notes[i]);
		nsx_buf_adds(b, "\n");
	}
}
