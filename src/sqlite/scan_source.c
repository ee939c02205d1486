/* scan_source.c - divides a source's blocks into parts of about equally many rows. */
#include <stdlib.h>
#include "sqlite/scan_source.h"

#define ROWS_WORTH_A_PART 20000

struct part {
	size_t first, rows; /* first block, and rows before it                */
};

struct nsx_sourcescan {
	const struct nsx_source *source;
	size_t table, nblocks;
	unsigned ncolumns, nparts;
	struct part parts[NSX_MAX_THREADS + 1]; /* the last entry is the end    */
	int columns[];
};

static void divide(struct nsx_sourcescan *s, unsigned most)
{
	const struct nsx_source *source = s->source;
	size_t all = (size_t)nsx_source_rows(source, s->table), rows = 0;
	unsigned n = (unsigned)NSX_MIN(most, all / ROWS_WORTH_A_PART), p = 1;

	s->nparts = NSX_MAX(NSX_MIN(n, NSX_MAX_THREADS), 1);
	for (size_t b = 0; b < s->nblocks; b++) {
		for (; p < s->nparts && rows >= all / s->nparts * p; p++)
			s->parts[p] = (struct part){b, rows};
		rows += source->rows(source->ctx, s->table, b);
	}
	for (; p <= s->nparts; p++)
		s->parts[p] = (struct part){s->nblocks, rows};
}

int nsx_sourcescan_open(struct nsx_db *db, const struct nsx_table_info *t,
			const char *const *columns, unsigned ncolumns,
			unsigned nparts, struct nsx_sourcescan **ret,
			struct nsx_err *err)
{
	const struct nsx_source *source = nsx_db_source(db);
	struct nsx_sourcescan *s;

	*ret = NULL;
	if (!source)
		return 0;
	s = nsx_try_alloc(1, sizeof(*s) + ncolumns * sizeof(*s->columns),
			  "a scan", err);
	if (!s)
		return err->rc;
	s->source = source;
	s->table = (size_t)(t - source->tables);
	s->nblocks = source->blocks(source->ctx, s->table);
	s->ncolumns = ncolumns;
	for (unsigned i = 0; i < ncolumns; i++)
		s->columns[i] = columns[i] ? nsx_column_find(t, columns[i]) : -1;
	divide(s, nparts);
	*ret = s;
	return 0;
}

void nsx_sourcescan_close(struct nsx_sourcescan *s)
{
	free(s);
}

unsigned nsx_sourcescan_parts(const struct nsx_sourcescan *s)
{
	return s->nparts;
}

size_t nsx_sourcescan_rows(const struct nsx_sourcescan *s, unsigned part)
{
	return s->parts[part + 1].rows - s->parts[part].rows;
}

size_t nsx_sourcescan_first_block(const struct nsx_sourcescan *s, unsigned part)
{
	return s->parts[part].first;
}

int nsx_sourcescan_run(struct nsx_sourcescan *s, unsigned part,
		       struct nsx_choice *choice, nsx_row_fn fn, void *ctx,
		       struct nsx_err *err)
{
	const struct nsx_source *source = s->source;
	size_t end = s->parts[part + 1].first, rows = s->parts[part].rows;
	struct nsx_source_reader *r;
	int rc = source->reader(source->ctx, s->table, s->columns, s->ncolumns,
				&r, err);

	if (rc)
		return rc;
	for (size_t b = s->parts[part].first; !rc && b < end; b++) {
		size_t n = source->rows(source->ctx, s->table, b);

		if (choice)
			choice->at = b;
		if (n && !(choice && choice->wants && !choice->wants(ctx, b)))
			rc = nsx_stopped(err) ?:
			     source->read(r, b, (int64_t)rows + 1, fn, ctx, err);
		rows += n;
	}
	source->done(r);
	return rc;
}
