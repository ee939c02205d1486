/* report.c - builds sections and finds things in them. */
#include "report/report.h"
#include "report/words.h"

int nsx_cannot_(struct nsx_section *s, const char *reason)
{
	s->status = NSX_S_CANNOT;
	s->reason = reason;
	return 0;
}

void nsx_put(struct nsx_section *s, const char *key, struct nsx_cell cell)
{
	nsx_push_or_die(s->values, s->nvalues, s->cap_values, (struct nsx_value){key, cell});
}

struct nsx_table *nsx_add_table(struct nsx_section *s, const struct nsx_layout *layout)
{
	struct nsx_table *t = nsx_arena_get(s->arena, sizeof(*t));

	nsx_table_begin(t, layout);
	nsx_push_or_die(s->tables, s->ntables, s->cap_tables, t);
	return t;
}

int nsx_section_whole(const struct nsx_section *s, struct nsx_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < s->ntables && !rc; i++)
		rc = nsx_table_whole(s->tables[i], err);
	return rc;
}

struct nsx_table **nsx_add_tables(struct nsx_section *s)
{
	for (unsigned i = 0; i < s->pass->nlayouts; i++)
		nsx_add_table(s, &s->pass->layouts[i]);
	return s->tables;
}

void nsx_note_(struct nsx_section *s, const char *text)
{
	nsx_push_or_die(s->notes, s->nnotes, s->cap_notes, text);
}

void nsx_warn_(struct nsx_section *s, const char *text)
{
	nsx_push_or_die(s->warnings, s->nwarnings, s->cap_warnings, text);
}

void nsx_md_add(struct nsx_section *s, enum nsx_block_kind kind, const char *text)
{
	nsx_push_or_die(s->blocks, s->nblocks, s->cap_blocks,
			(struct nsx_block){.kind = kind, .text = text});
}

size_t nsx_first_rows(const struct nsx_table *t, size_t most, int column, double least)
{
	size_t n = 0;

	while (n < NSX_MIN(most, t->nrows) && nsx_row_at(t, n)[column].u.f >= least)
		n++;
	return n;
}

void nsx_md_table_of(struct nsx_section *s, const struct nsx_table *t,
		     size_t max_rows, const int *columns, size_t ncolumns)
{
	int *copy = nsx_arena_get(s->arena, ncolumns * sizeof(*copy));

	for (size_t i = 0; i < ncolumns; i++) {
		copy[i] = columns ? columns[i] : (int)i;
		if (copy[i] < 0 || copy[i] >= (int)t->layout->ncols)
			abort();
	}
	nsx_push_or_die(s->blocks, s->nblocks, s->cap_blocks,
			(struct nsx_block){
				NSX_B_TABLE, .table = t, .columns = copy,
				.ncolumns = ncolumns,
				.max_rows = max_rows ? max_rows :
						       NSX_MAX_MD_ROWS});
}

const struct nsx_section *nsx_report_section(const struct nsx_report *r, const char *pass_id)
{
	return NSX_FIRST(i, r->nsections, !strcmp(r->sections[i].pass->id, pass_id),
			 &r->sections[i], NULL);
}

const struct nsx_table *nsx_report_table(const struct nsx_report *r, const char *csv, size_t n)
{
	for (size_t i = 0; i < r->nsections; i++)
		for (size_t k = 0; k < r->sections[i].ntables; k++) {
			const char *its = r->sections[i].tables[k]->layout->csv;

			if (its && strlen(its) == n && !strncmp(its, csv, n))
				return r->sections[i].tables[k];
		}
	return NULL;
}

const struct nsx_section *nsx_section_of(const struct nsx_report *r, const struct nsx_table *t)
{
	for (size_t i = 0; i < r->nsections; i++)
		for (size_t k = 0; k < r->sections[i].ntables; k++)
			if (r->sections[i].tables[k] == t)
				return &r->sections[i];
	return NULL;
}

const struct nsx_table *nsx_section_table(const struct nsx_section *s, const char *key)
{
	return NSX_FIRST(i, s ? s->ntables : 0,
			 s->tables[i]->layout->key && !strcmp(s->tables[i]->layout->key, key),
			 s->tables[i], NULL);
}

const struct nsx_cell *nsx_section_value(const struct nsx_section *s, const char *key)
{
	return NSX_FIRST(i, s ? s->nvalues : 0, !strcmp(s->values[i].key, key),
			 &s->values[i].cell, NULL);
}

/* Cells that findings cite -------------------------------------------------------- */

/* Whether a cell equals y. id: the text of y as a string id of the table. */
static bool report_same_cell(const struct nsx_cell *x, const struct nsx_cell *y, nsx_str id)
{
	if (x->type == NSX_T_ID)
		return x->u.id == id;
	if (x->type != y->type)
		return false;
	switch (x->type) {
	case NSX_T_NULL:
		return true;
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

static bool is_nothing(const struct nsx_cell *c)
{
	return !c->type || (c->type == NSX_T_I64 && !c->u.i) ||
	       (c->type == NSX_T_F64 && c->u.f == 0);
}

static bool has_cells(const struct nsx_evidence *e, const struct nsx_cell *row,
		      const unsigned *cols, const nsx_str *ids)
{
	for (size_t i = 0; i < ARRAY_LEN(e->at) && e->at[i].column; i++)
		if (!report_same_cell(&row[cols[i]], &e->at[i].is, ids[i]))
			return false;
	return true;
}

/* Copies a row; its texts become plain strings. */
static struct nsx_cell *copy_row(const struct nsx_table *t,
				 const struct nsx_cell *row, struct nsx_arena *a)
{
	size_t size = t->layout->ncols * sizeof(*row);
	struct nsx_cell *copy = memcpy(nsx_arena_get(a, size), row, size);

	for (unsigned i = 0; i < t->layout->ncols; i++)
		if (copy[i].type == NSX_T_ID)
			copy[i] = nsx_string(nsx_str_text(t->strings, copy[i].u.id));
	return copy;
}

/* Finds the columns of the cells that name a row, and the ids of their texts in the table. */
static void find_cells(const struct nsx_table *t, const struct nsx_evidence *e,
		       unsigned *ret_cols, nsx_str *ret_ids)
{
	for (size_t n = 0; n < ARRAY_LEN(e->at) && e->at[n].column; n++) {
		ret_cols[n] = nsx_table_need(t, e->at[n].column);
		ret_ids[n] = t->strings && e->at[n].is.type == NSX_T_STR ?
				     nsx_strings_find(t->strings, e->at[n].is.u.s) : 0;
	}
}

/* Counts the rows that match the named cells and, of these, the rows that match each further
 * cell.
 */
static size_t report_count_alike(const struct nsx_table *t, const struct nsx_evidence *e,
				 size_t *ret_with)
{
	unsigned cols[ARRAY_LEN(e->at)];
	nsx_str ids[ARRAY_LEN(e->at)], own[NSX_PACKED_COLUMNS] = {0};
	struct nsx_row_reader reader = nsx_read_rows(t);
	unsigned ncols = NSX_MIN(t->layout->ncols, (unsigned)NSX_PACKED_COLUMNS);
	const struct nsx_cell *row;
	size_t n = 0;

	find_cells(t, e, cols, ids);
	memset(ret_with, 0, NSX_PACKED_COLUMNS * sizeof(*ret_with));
	for (unsigned c = 0; c < ncols; c++)
		if (t->strings && e->cells[c].type == NSX_T_STR)
			own[c] = nsx_strings_find(t->strings, e->cells[c].u.s);
	while ((row = nsx_next_row(&reader))) {
		if (!has_cells(e, row, cols, ids))
			continue;
		n++;
		for (unsigned c = 0; c < ncols; c++)
			ret_with[c] += report_same_cell(&row[c], &e->cells[c], own[c]);
	}
	return n;
}

/* Adds cells to those by which the evidence finds its row, column by column, until no other row has
 * the same. Returns false if others remain.
 */
static bool report_tell_apart(const struct nsx_table *t, struct nsx_evidence *e)
{
	unsigned ncols = NSX_MIN(t->layout->ncols, (unsigned)NSX_PACKED_COLUMNS);
	size_t with[NSX_PACKED_COLUMNS], n, k = 0;

	while (k < ARRAY_LEN(e->at) && e->at[k].column)
		k++;
	while ((n = report_count_alike(t, e, with)) > 1) {
		unsigned c = 0;

		while (c < ncols && (c == e->col || !with[c] || with[c] == n))
			c++;
		if (c == ncols || k == ARRAY_LEN(e->at) || e->is_only)
			return false;
		e->at[k++] = (struct nsx_at){t->layout->cols[c].key, e->cells[c]};
	}
	return true;
}

/* Finds the table row of the evidence. Returns the table if the row may be among the rows that were
 * not kept, otherwise NULL.
 */
static const struct nsx_table *report_prove(const struct nsx_report *r, struct nsx_evidence *e)
{
	const struct nsx_table *t = nsx_report_table(r, e->csv, strlen(e->csv));
	unsigned cols[ARRAY_LEN(e->at)];
	struct nsx_row_reader reader;
	const struct nsx_cell *row;
	nsx_str ids[ARRAY_LEN(e->at)];

	e->table = NULL;
	if (!t)
		return NULL;
	e->col = nsx_table_need(t, e->column);
	find_cells(t, e, cols, ids);
	reader = nsx_read_rows(t);
	do
		row = nsx_next_row(&reader);
	while (row && (!has_cells(e, row, cols, ids) || is_nothing(&row[e->col])));
	if (!row)
		return t->nrest ? t : NULL;
	e->row = reader.row - 1;
	e->cells = copy_row(t, row, r->arena);
	if (report_tell_apart(t, e))
		e->table = t;
	return NULL;
}

const struct nsx_table *nsx_prove_findings(struct nsx_report *r)
{
	const struct nsx_table *cut = NULL;

	for (size_t i = 0; i < r->found.n; i++)
		NSX_EACH_PROOF(&r->found.v[i], k) {
			const struct nsx_table *t = report_prove(r, &r->found.v[i].proof[k]);

			cut = t ? t : cut;
		}
	return cut;
}

void nsx_add_curve(struct nsx_section *s, const struct nsx_curve *c)
{
	size_t size = NSX_CURVE_BINS * sizeof(*c->at);
	float *at = nsx_arena_get(s->arena, size);

	memcpy(at, c->at, size);
	nsx_push_or_die(s->curves, s->ncurves, s->cap_curves,
			(struct nsx_curve){c->label, c->unit, c->device, c->device_id,
					   c->full, at});
}

const char *nsx_report_damage(const struct nsx_report *r)
{
	const char *loss = r->has_changed ? NSX_CHANGED : nsx_schema_loss(r->trace->schema, 0);

	for (size_t i = 0; !loss && i < r->nsections; i++)
		if (r->sections[i].status == NSX_S_FAILED)
			loss = r->sections[i].reason;
	return loss;
}

void nsx_section_done(struct nsx_section *s)
{
	free(s->curves);
	for (size_t i = 0; i < s->ntables; i++)
		nsx_table_done(s->tables[i]);
	free(s->values);
	free(s->tables);
	free(s->notes);
	free(s->blocks);
	free(s->warnings);
	nsx_arena_free(s->arena);
}
