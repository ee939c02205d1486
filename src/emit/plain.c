/* plain.c - a section as lines for a terminal, with aligned columns. */
#include "emit/emit.h"
#include "emit/md_table.h"

enum { MAX_COLUMNS = 32 };

static void plain_pad(struct nsx_buf *b, const char *text, size_t width, bool right)
{
	size_t n = nsx_count_chars(text, strlen(text));

	for (size_t i = n; right && i < width; i++)
		nsx_buf_adds(b, " ");
	nsx_buf_adds(b, text);
	for (size_t i = n; !right && i < width; i++)
		nsx_buf_adds(b, " ");
}

/* Formats row r of a block's table for people. r == SIZE_MAX: headings. */
static void format_cell(const struct nsx_block *block, size_t r, size_t i,
			struct nsx_arena *a, struct nsx_buf *text)
{
	const struct nsx_table *t = block->table;
	const struct nsx_col *col = &t->layout->cols[block->columns[i]];
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf md = {0};

	if (r == SIZE_MAX)
		nsx_md_add_title(&md, col);
	else
		nsx_md_add_cell(&md, a, col, &nsx_row_at(t, r)[block->columns[i]], NULL);
	nsx_buf_clear(text);
	nsx_md_add_plain(text, md.p ? md.p : "");
}

static void plain_add_table(struct nsx_buf *b, const struct nsx_block *block)
{
	const struct nsx_table *t = block->table;
	size_t width[MAX_COLUMNS] = {0};
	size_t n = NSX_MIN(t->nrows, block->max_rows);
	size_t ncolumns = NSX_MIN(block->ncolumns, (size_t)MAX_COLUMNS);
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf text = {0};

	for (size_t r = 0; r <= n; r++)
		for (size_t i = 0; i < ncolumns; i++) {
			format_cell(block, r ? r - 1 : SIZE_MAX, i, a, &text);
			width[i] = NSX_MAX(width[i], nsx_count_chars(text.p, text.n));
		}
	for (size_t r = 0; r <= n && t->nrows; r++) {
		for (size_t i = 0; i < ncolumns; i++) {
			enum nsx_type type = t->layout->cols[block->columns[i]].type;

			format_cell(block, r ? r - 1 : SIZE_MAX, i, a, &text);
			nsx_buf_adds(b, i ? "  " : "");
			plain_pad(b, text.p, i + 1 < ncolumns || type != NSX_T_STR ?
					       width[i] : 0,
				  type == NSX_T_I64 || type == NSX_T_F64);
		}
		nsx_buf_adds(b, "\n");
	}
	if (n < t->nrows)
		nsx_buf_printf(b, "%zu of %zu rows\n", n, nsx_table_total(t));
}

void nsx_emit_plain_section(const struct nsx_section *s, struct nsx_buf *b)
{
	if (s->status == NSX_S_CANNOT)
		nsx_buf_printf(b, "cannot tell: %s\n", s->reason);
	for (size_t i = 0; i < s->nblocks; i++) {
		const struct nsx_block *block = &s->blocks[i];

		if (block->kind == NSX_B_TABLE) {
			plain_add_table(b, block);
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
