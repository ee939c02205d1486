/* columns.c - gathers the rows of a table by column. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "emit/columns.h"

/* Limits of what is gathered at a time. Texts may be long, so the second is on their bytes. */
enum { FULL_ROWS = 1 << 17, FULL_BYTES = 16 << 20 };

static bool is_text_cell(const struct nsx_cell *c)
{
	return c->type == NSX_T_STR || c->type == NSX_T_ID;
}

void nsx_columns_begin(struct nsx_columns *c, const struct nsx_layout *l, const struct nsx_table *t)
{
	size_t cap = 0;

	*c = (struct nsx_columns){.strings = t ? t->strings : NULL};
	nsx_grow_or_die(&c->v, &cap, l->ncols, sizeof(*c->v));
	for (unsigned i = 0; i < l->ncols; i++)
		if (nsx_is_scalar(l->cols[i].type))
			c->v[c->n++] = (struct nsx_file_column){
				.col = &l->cols[i], .type = l->cols[i].type, .at = i};
	if (!t)
		return;
	struct nsx_row_reader reader = nsx_read_rows(t);

	for (const struct nsx_cell *row; (row = nsx_next_row(&reader));)
		for (unsigned i = 0; i < c->n; i++)
			if (is_text_cell(&row[c->v[i].at]))
				c->v[i].type = NSX_T_STR;
}

void nsx_columns_begin_like(struct nsx_columns *c, const struct nsx_columns *like)
{
	size_t cap = 0;

	*c = (struct nsx_columns){.n = like->n, .strings = like->strings};
	nsx_grow_or_die(&c->v, &cap, c->n, sizeof(*c->v));
	for (unsigned i = 0; i < c->n; i++)
		c->v[i] = (struct nsx_file_column){
			.col = like->v[i].col, .type = like->v[i].type, .at = like->v[i].at};
}

/* Appends the bit of a row. */
static void add_bit(struct nsx_buf *b, size_t row, bool bit)
{
	if (row % 8 == 0)
		nsx_buf_add(b, "", 1);
	b->p[row / 8] |= (char)(bit << row % 8);
}

static void columns_add_value(struct nsx_columns *c, struct nsx_file_column *x,
			      const struct nsx_cell *cell)
{
	const char *text = "";
	char number[24];
	int64_t i = cell->type ? cell->u.i : 0;
	int32_t end = 0;

	if (x->type == NSX_T_STR && !c->nrows)
		nsx_buf_add(&x->offsets, (const char *)&end, sizeof(end));

	switch (x->type) {
	case NSX_T_BOOL:
		add_bit(&x->values, c->nrows, cell->type == NSX_T_BOOL && cell->u.b);
		return;
	case NSX_T_STR:
		if (cell->type == NSX_T_I64) {
			snprintf(number, sizeof(number), "%" PRId64, cell->u.i);
			text = number;
		} else if (is_text_cell(cell)) {
			text = cell->type == NSX_T_STR ? cell->u.s :
				nsx_str_read(c->strings, cell->u.id, &c->name);
		}
		nsx_buf_adds(&x->values, text);
		end = (int32_t)x->values.n;
		nsx_buf_add(&x->offsets, (const char *)&end, sizeof(end));
		return;
	default:
		nsx_buf_add(&x->values, (const char *)&i, sizeof(i));
	}
}

void nsx_columns_add(struct nsx_columns *c, const struct nsx_cell *row)
{
	for (unsigned i = 0; i < c->n; i++) {
		struct nsx_file_column *x = &c->v[i];
		const struct nsx_cell *cell = &row[x->at];

		add_bit(&x->valid, c->nrows, cell->type != NSX_T_NULL);
		x->nnulls += cell->type == NSX_T_NULL;
		columns_add_value(c, x, cell);
	}
	c->nrows++;
}

bool nsx_columns_are_full(const struct nsx_columns *c)
{
	size_t nbytes = 0;

	for (unsigned i = 0; i < c->n; i++)
		nbytes += c->v[i].values.n;
	return c->nrows >= FULL_ROWS || nbytes >= FULL_BYTES;
}

void nsx_columns_clear(struct nsx_columns *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		struct nsx_file_column *x = &c->v[i];

		x->nnulls = 0;
		nsx_buf_clear(&x->valid);
		nsx_buf_clear(&x->values);
		nsx_buf_clear(&x->offsets);
	}
	c->nrows = 0;
}

void nsx_file_column_done(struct nsx_file_column *c)
{
	nsx_buf_done(&c->valid);
	nsx_buf_done(&c->values);
	nsx_buf_done(&c->offsets);
}

void nsx_columns_done(struct nsx_columns *c)
{
	for (unsigned i = 0; i < c->n; i++)
		nsx_file_column_done(&c->v[i]);
	nsx_buf_done(&c->name);
	free(c->v);
}
