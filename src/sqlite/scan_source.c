/* scan_source.c - divides a source's blocks into parts of about equally many rows. */
#include "sqlite/scan_backends.h"

#define ROWS_WORTH_A_PART 20000

struct part {
	size_t first; /* first block of the part                             */
	size_t rows;  /* number of rows in all blocks before it              */
	size_t kept;  /* number of rows in the kept blocks before it         */
};

struct nsx_sourcescan {
	const struct nsx_source *source;
	size_t table, nblocks;
	unsigned ncolumns, nparts, most_parts;
	size_t first, last; /* first and last block that has rows of the table */
	/* Outside [near, end) only the blocks `first` and `last` are kept. Inside, all blocks are
	 * kept if is_run, otherwise those with rows in [from_ns, to_ns).
	 */
	size_t near, end;
	bool is_run;
	int64_t from_ns, to_ns;
	struct part parts[NSX_MAX_THREADS + 1]; /* the last entry is the end    */
	int columns[];
};

static size_t rows_in_block(const struct nsx_sourcescan *s, size_t block)
{
	return s->source->rows(s->source->ctx, s->table, block);
}

static bool overlaps_time_limits(const struct nsx_sourcescan *s, size_t block)
{
	int64_t least, most;

	s->source->when(s->source->ctx, s->table, block, &least, &most);
	return least < s->to_ns && most >= s->from_ns;
}

static bool is_block_kept(const struct nsx_sourcescan *s, size_t block)
{
	return block == s->first || block == s->last ||
	       (block >= s->near && block < s->end &&
		(s->is_run || overlaps_time_limits(s, block)));
}

static void divide_blocks_into_parts(struct nsx_sourcescan *s)
{
	size_t all = 0, rows = 0, kept = 0;
	unsigned n, p = 1;

	for (size_t b = 0; b < s->nblocks; b++)
		all += is_block_kept(s, b) ? rows_in_block(s, b) : 0;
	n = (unsigned)NSX_MIN(s->most_parts, all / ROWS_WORTH_A_PART);
	s->nparts = NSX_MAX(NSX_MIN(n, NSX_MAX_THREADS), 1);
	for (size_t b = 0; b < s->nblocks; b++) {
		for (; p < s->nparts && kept >= all / s->nparts * p; p++)
			s->parts[p] = (struct part){b, rows, kept};
		kept += is_block_kept(s, b) ? rows_in_block(s, b) : 0;
		rows += rows_in_block(s, b);
	}
	for (; p <= s->nparts; p++)
		s->parts[p] = (struct part){s->nblocks, rows, kept};
}

void nsx_sourcescan_near(struct nsx_sourcescan *s, int64_t from, int64_t to, bool is_run)
{
	s->from_ns = from;
	s->to_ns = to;
	while (s->near < s->end &&
	       (!rows_in_block(s, s->near) || !overlaps_time_limits(s, s->near)))
		s->near++;
	while (s->end > s->near &&
	       (!rows_in_block(s, s->end - 1) || !overlaps_time_limits(s, s->end - 1)))
		s->end--;
	s->is_run = is_run;
	divide_blocks_into_parts(s);
}

int nsx_sourcescan_open(struct nsx_db *db, const struct nsx_table_info *t,
			const char *const *columns, unsigned ncolumns,
			unsigned nparts, struct nsx_sourcescan **ret, struct nsx_err *err)
{
	const struct nsx_source *source = nsx_db_source(db);
	struct nsx_sourcescan *s;

	*ret = NULL;
	if (!source)
		return 0;
	s = nsx_try_alloc(1, sizeof(*s) + ncolumns * sizeof(*s->columns), "a scan", err);
	if (!s)
		return err->rc;
	s->source = source;
	s->table = (size_t)(t - source->tables);
	s->nblocks = source->blocks(source->ctx, s->table);
	s->ncolumns = ncolumns;
	for (unsigned i = 0; i < ncolumns; i++)
		s->columns[i] = columns[i] ? nsx_column_find(t, columns[i]) : -1;
	s->end = s->nblocks;
	s->last = s->nblocks ? s->nblocks - 1 : 0;
	while (s->last > s->first && !rows_in_block(s, s->first))
		s->first++;
	while (s->last > s->first && !rows_in_block(s, s->last))
		s->last--;
	s->is_run = true;
	s->most_parts = nparts;
	divide_blocks_into_parts(s);
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
	return s->parts[part + 1].kept - s->parts[part].kept;
}

size_t nsx_sourcescan_first_block(const struct nsx_sourcescan *s, unsigned part)
{
	return s->parts[part].first;
}

int nsx_sourcescan_run(struct nsx_sourcescan *s, unsigned part,
		       struct nsx_choice *choice, nsx_row_fn fn, void *ctx, struct nsx_err *err)
{
	const struct nsx_source *source = s->source;
	size_t end = s->parts[part + 1].first, rows = s->parts[part].rows;
	struct nsx_source_reader *r;
	int rc = source->reader(source->ctx, s->table, s->columns, s->ncolumns, &r, err);

	if (rc)
		return rc;
	for (size_t b = s->parts[part].first; !rc && b < end; b++) {
		size_t n = rows_in_block(s, b);

		if (choice)
			choice->at = b;
		if (n && is_block_kept(s, b) && !(choice && choice->wants && !choice->wants(ctx,
											    b)))
			rc = nsx_stopped(err) ?:
			     source->read(r, b, (int64_t)rows + 1, fn, ctx, err);
		rows += n;
	}
	source->done(r);
	return rc;
}
