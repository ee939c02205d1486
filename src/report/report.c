/* report.c - building sections and finding things in them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "report/report.h"
#include "report/text.h"
#include "report/words.h"

#define APPEND(s, list, n, cap)                                               \
	(nsx_grow_or_die(&(s)->list, &(s)->cap, (s)->n + 1,                   \
			 sizeof(*(s)->list)),                                 \
	 &(s)->list[(s)->n++])

static NSX_PRINTF(2, 0) const char *say(struct nsx_section *s, const char *fmt,
					va_list ap)
{
	return nsx_arena_vprintf(s->arena, fmt, ap);
}

const char *nsx_say(struct nsx_section *s, const char *fmt, ...)
{
	va_list ap;
	const char *p;

	va_start(ap, fmt);
	p = say(s, fmt, ap);
	va_end(ap);
	return p;
}

const char *nsx_say_bytes(struct nsx_section *s, int64_t bytes)
{
	return nsx_text_bytes(s->arena, (double)bytes);
}

const char *nsx_md_name(struct nsx_section *s, const char *name)
{
	return nsx_text_name(s->arena, name);
}

int nsx_cannot(struct nsx_section *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	s->status = NSX_S_CANNOT;
	s->reason = say(s, fmt, ap);
	va_end(ap);
	return 0;
}

void nsx_put(struct nsx_section *s, const char *key, struct nsx_cell cell)
{
	*APPEND(s, values, nvalues, cap_values) = (struct nsx_value){key, cell};
}

struct nsx_table *nsx_add_table(struct nsx_section *s,
				const struct nsx_layout *layout)
{
	struct nsx_table *t = nsx_arena_get(s->arena, sizeof(*t));

	nsx_table_begin(t, layout);
	*APPEND(s, tables, ntables, cap_tables) = t;
	return t;
}

int nsx_section_whole(const struct nsx_section *s, struct nsx_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < s->ntables && !rc; i++)
		rc = nsx_table_whole(s->tables[i], err);
	return rc;
}

void nsx_note(struct nsx_section *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	*APPEND(s, notes, nnotes, cap_notes) = say(s, fmt, ap);
	va_end(ap);
}

void nsx_warn(struct nsx_section *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	*APPEND(s, warnings, nwarnings, cap_warnings) = say(s, fmt, ap);
	va_end(ap);
}

void nsx_headline(struct nsx_section *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	s->headline = say(s, fmt, ap);
	va_end(ap);
}

static struct nsx_block *block(struct nsx_section *s, enum nsx_block_kind kind)
{
	struct nsx_block *b = APPEND(s, blocks, nblocks, cap_blocks);

	*b = (struct nsx_block){.kind = kind};
	return b;
}

void nsx_md_heading(struct nsx_section *s, const char *heading)
{
	block(s, NSX_B_HEADING)->text = heading;
}

void nsx_md_subheading(struct nsx_section *s, const char *heading)
{
	block(s, NSX_B_SUBHEADING)->text = heading;
}

void nsx_md_subsubheading(struct nsx_section *s, const char *heading)
{
	block(s, NSX_B_SUBSUBHEADING)->text = heading;
}

void nsx_md_bullet(struct nsx_section *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	block(s, NSX_B_BULLET)->text = say(s, fmt, ap);
	va_end(ap);
}

void nsx_md_text(struct nsx_section *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	block(s, NSX_B_TEXT)->text = say(s, fmt, ap);
	va_end(ap);
}

void nsx_md_table_of(struct nsx_section *s, const struct nsx_table *t,
		     size_t max_rows, const int *columns, size_t ncolumns)
{
	struct nsx_block *b = block(s, NSX_B_TABLE);
	int *copy = nsx_arena_get(s->arena, ncolumns * sizeof(*copy));

	for (size_t i = 0; i < ncolumns; i++) {
		if (columns[i] < 0 || columns[i] >= (int)t->layout->ncols)
			abort();
		copy[i] = columns[i];
	}
	b->table = t;
	b->columns = copy;
	b->ncolumns = ncolumns;
	b->max_rows = max_rows ? max_rows : NSX_MAX_MD_ROWS;
}

const struct nsx_section *nsx_report_section(const struct nsx_report *r,
					     const char *pass_id)
{
	for (size_t i = 0; i < r->nsections; i++)
		if (!strcmp(r->sections[i].pass->id, pass_id))
			return &r->sections[i];
	return NULL;
}

const struct nsx_section *nsx_section_of(const struct nsx_report *r,
					 const struct nsx_table *t)
{
	for (size_t i = 0; i < r->nsections; i++)
		for (size_t k = 0; k < r->sections[i].ntables; k++)
			if (r->sections[i].tables[k] == t)
				return &r->sections[i];
	return NULL;
}

const struct nsx_table *nsx_section_table(const struct nsx_section *s,
					  const char *key)
{
	for (size_t i = 0; s && i < s->ntables; i++)
		if (s->tables[i]->layout->key &&
		    !strcmp(s->tables[i]->layout->key, key))
			return s->tables[i];
	return NULL;
}

const struct nsx_cell *nsx_section_value(const struct nsx_section *s,
					 const char *key)
{
	for (size_t i = 0; s && i < s->nvalues; i++)
		if (!strcmp(s->values[i].key, key))
			return &s->values[i].cell;
	return NULL;
}

/* What findings point at -----------------------------------------------------*/

static const struct nsx_table *table_of(const struct nsx_report *r,
					const char *csv)
{
	for (size_t i = 0; i < r->nsections; i++)
		for (size_t k = 0; k < r->sections[i].ntables; k++) {
			const struct nsx_table *t = r->sections[i].tables[k];

			if (t->layout->csv && !strcmp(t->layout->csv, csv))
				return t;
		}
	return NULL;
}

static bool same_cell(const struct nsx_cell *x, const struct nsx_cell *y)
{
	if (x->type != y->type)
		return false;
	switch (x->type) {
	case NSX_T_I64:
		return x->u.i == y->u.i;
	case NSX_T_BOOL:
		return x->u.b == y->u.b;
	case NSX_T_STR:
		return !strcmp(x->u.s, y->u.s);
	default:
		return false;
	}
}

static bool is_row(const struct nsx_evidence *e, const struct nsx_table *t,
		   const unsigned *cols, size_t row)
{
	for (size_t i = 0; i < ARRAY_LEN(e->at) && e->at[i].column; i++)
		if (!same_cell(&nsx_row_at(t, row)[cols[i]], &e->at[i].is))
			return false;
	return true;
}

/* The table, where the row may be one that is not held; else NULL. */
static const struct nsx_table *prove(const struct nsx_report *r,
				     struct nsx_evidence *e)
{
	const struct nsx_table *t = table_of(r, e->csv);
	unsigned cols[ARRAY_LEN(e->at)];

	e->table = NULL;
	if (!t)
		return NULL;
	e->col = nsx_table_need(t, e->column);
	for (size_t i = 0; i < ARRAY_LEN(e->at) && e->at[i].column; i++)
		cols[i] = nsx_table_need(t, e->at[i].column);
	for (size_t row = 0; row < t->nrows && !e->table; row++)
		if (is_row(e, t, cols, row) &&
		    nsx_row_at(t, row)[e->col].type) {
			e->table = t;
			e->row = row;
		}
	return t->nrest && !e->table ? t : NULL;
}

const struct nsx_table *nsx_prove_findings(struct nsx_report *r)
{
	const struct nsx_table *cut = NULL;

	for (size_t i = 0; i < r->found.n; i++)
		for (size_t k = 0; k < ARRAY_LEN(r->found.v[i].proof) &&
				   r->found.v[i].proof[k].csv; k++)
			cut = prove(r, &r->found.v[i].proof[k]) ?: cut;
	return cut;
}

void nsx_add_curve(struct nsx_section *s, const struct nsx_curve *c)
{
	size_t size = NSX_CURVE_BINS * sizeof(*c->at);
	float *at = nsx_arena_get(s->arena, size);

	memcpy(at, c->at, size);
	*APPEND(s, curves, ncurves, cap_curves) = (struct nsx_curve){
		c->label, c->unit, c->device_id, c->full, at};
}

void nsx_section_done(struct nsx_section *s)
{
	free(s->curves);
	for (size_t i = 0; i < s->ntables; i++)
		free(s->tables[i]->cells);
	free(s->values);
	free(s->tables);
	free(s->notes);
	free(s->blocks);
	free(s->warnings);
	nsx_arena_free(s->arena);
}
