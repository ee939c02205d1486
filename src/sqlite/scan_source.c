/* scan_source.c - divides a source's blocks into parts of about equally many rows. */
#include "sqlite/scan_backends.h"

#define ROWS_WORTH_A_PART 20000

struct part {
	size_t first; /* first block of the part                             */
	size_t rows;  /* number of rows in all blocks before it              */
	size_t kept;  /* number of rows in the kept blocks before it         */
};

struct nsx_sourcescan {
	struct nsx_scan scan;
	const struct nsx_source *source;
	size_t table, nblocks;
	unsigned ncolumns, most_parts;
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

/* The source's own part of a scan of a source. */
static struct nsx_sourcescan *sourcescan_of(struct nsx_scan *s)
{
	return (struct nsx_sourcescan *)s;
}

static size_t rows_in_block(const struct nsx_sourcescan *s, size_t block)
{
	return block < s->nblocks ? s->source->rows(s->source->ctx, s->table, block) : 0;
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

/* Adds a block to the sums of all blocks so far, which stand in the last entry of parts. Returns
 * the number of rows that are kept.
 */
static size_t add_block_to_parts(struct nsx_sourcescan *s, size_t block)
{
	struct part *end = &s->parts[s->scan.nparts];
	size_t rows = rows_in_block(s, block), kept = is_block_kept(s, block) ? rows : 0;

	end->rows += rows;
	end->kept += kept;
	return kept;
}

/* Divides the blocks into parts. All scans get the same parts. */
static void divide_blocks_into_parts(struct nsx_sourcescan *const *v, size_t n)
{
	size_t all = 0, done = 0, nblocks = 0;
	unsigned nparts, p = 0;

	for (size_t i = 0; i < n; i++) {
		nblocks = NSX_MAX(nblocks, v[i]->nblocks);
		for (size_t b = 0; b < v[i]->nblocks; b++)
			all += is_block_kept(v[i], b) ? rows_in_block(v[i], b) : 0;
	}
	nparts = (unsigned)NSX_MIN(v[0]->most_parts, all / ROWS_WORTH_A_PART);
	nparts = NSX_MAX(NSX_MIN(nparts, NSX_MAX_THREADS), 1);
	for (size_t i = 0; i < n; i++) {
		v[i]->scan.nparts = nparts;
		v[i]->parts[nparts] = (struct part){nblocks, 0, 0};
	}
	for (size_t b = 0; b <= nblocks; b++) {
		for (; p < nparts && (b == nblocks || done >= all / nparts * p); p++)
			for (size_t i = 0; i < n; i++) {
				v[i]->parts[p] = v[i]->parts[nparts];
				v[i]->parts[p].first = b;
			}
		for (size_t i = 0; i < n; i++)
			done += add_block_to_parts(v[i], b);
	}
}

int nsx_scan_join(const struct nsx_scan_share *v, size_t n, struct nsx_err *err)
{
	struct nsx_sourcescan **scans = nsx_try_alloc(n, sizeof(*scans), "scans", err);

	if (!scans)
		return err->rc;
	for (size_t i = 0; i < n; i++)
		scans[i] = sourcescan_of(v[i].scan);
	divide_blocks_into_parts(scans, n);
	free(scans);
	return 0;
}

static int scan_source_near(struct nsx_scan *scan, const struct nsx_table_info *t NSX_UNUSED,
			    const char *column NSX_UNUSED, int64_t from, int64_t to, bool is_run,
			    struct nsx_err *err NSX_UNUSED)
{
	struct nsx_sourcescan *s = sourcescan_of(scan);

	s->from_ns = from;
	s->to_ns = to;
	while (s->near < s->end &&
	       (!rows_in_block(s, s->near) || !overlaps_time_limits(s, s->near)))
		s->near++;
	while (s->end > s->near &&
	       (!rows_in_block(s, s->end - 1) || !overlaps_time_limits(s, s->end - 1)))
		s->end--;
	s->is_run = is_run;
	divide_blocks_into_parts(&s, 1);
	return 0;
}

static int scan_source_open(struct nsx_db *db, const struct nsx_table_info *t,
			    const char *const *columns, unsigned ncolumns,
			    unsigned nparts, struct nsx_scan **ret, struct nsx_err *err)
{
	const struct nsx_source *source = nsx_db_source(db);
	struct nsx_sourcescan *s;

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
	divide_blocks_into_parts(&s, 1);
	*ret = &s->scan;
	return 0;
}

static void scan_source_close(struct nsx_scan *scan)
{
	free(scan);
}

static size_t scan_source_rows(struct nsx_scan *scan, unsigned part)
{
	const struct part *p = &sourcescan_of(scan)->parts[part];

	return p[1].kept - p->kept;
}

static size_t scan_source_first_block(const struct nsx_scan *scan, unsigned part)
{
	return ((const struct nsx_sourcescan *)scan)->parts[part].first;
}

/* Prepares the uses for a block. False: none of them wants it. */
static bool is_block_wanted(const struct nsx_scan_share *v, size_t n, struct nsx_source_use *uses,
			    int64_t *rids, size_t block)
{
	bool is_wanted = false;

	for (size_t i = 0; i < n; i++) {
		const struct nsx_sourcescan *s = sourcescan_of(v[i].scan);
		size_t rows = rows_in_block(s, block);
		struct nsx_choice *choice = v[i].choice;

		uses[i].rid = rids[i];
		rids[i] += (int64_t)rows;
		uses[i].is_wanted = is_block_kept(s, block) &&
				    !(choice && choice->wants && !choice->wants(v[i].ctx, block));
		if (choice)
			choice->at = block;
		is_wanted |= rows && uses[i].is_wanted;
	}
	return is_wanted;
}

static int read_blocks(const struct nsx_scan_share *v, size_t n, struct nsx_source_use *uses,
		       int64_t *rids, unsigned part, struct nsx_err *err)
{
	const struct nsx_sourcescan *any = sourcescan_of(v[0].scan);
	const struct nsx_source *source = any->source;
	size_t end = any->parts[part + 1].first;
	struct nsx_source_reader *r;
	int rc;

	for (size_t i = 0; i < n; i++) {
		const struct nsx_sourcescan *s = sourcescan_of(v[i].scan);

		uses[i] = (struct nsx_source_use){s->table, s->columns, s->ncolumns, v[i].fn,
						  v[i].again, v[i].ctx, false, 0};
		rids[i] = (int64_t)s->parts[part].rows + 1;
	}
	rc = source->reader(source->ctx, uses, n, &r, err);
	if (rc)
		return rc;
	for (size_t b = any->parts[part].first; !rc && b < end; b++)
		if (is_block_wanted(v, n, uses, rids, b))
			rc = nsx_stopped(err) ?: source->read(r, b, err);
	source->done(r);
	return rc;
}

int nsx_scan_run_joined(const struct nsx_scan_share *v, size_t n, unsigned part,
			struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_free_at) struct nsx_source_use *uses =
		nsx_try_alloc(n, sizeof(*uses), "scans", err);
	NSX_AT_EXIT(nsx_free_at) int64_t *rids = nsx_try_alloc(n, sizeof(*rids), "scans", err);

	return uses && rids ? read_blocks(v, n, uses, rids, part, err) : err->rc;
}

static int scan_source_run(struct nsx_scan *s, unsigned part, struct nsx_choice *choice,
			   nsx_row_fn fn, void *ctx, struct nsx_err *err)
{
	return nsx_scan_run_joined(&(struct nsx_scan_share){s, choice, fn, NULL, ctx}, 1, part, err);
}

const struct nsx_scan_backend nsx_source_backend = {
	"source", scan_source_open, scan_source_close, scan_source_near, scan_source_rows,
	scan_source_first_block, scan_source_run};

bool nsx_scan_can_join(const struct nsx_scan *s)
{
	return s->backend == &nsx_source_backend;
}
