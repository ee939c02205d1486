/* scan.h - reads chosen columns of one table, once, in parts.
 *
 * A plan divides the table into parts of consecutive rows. The number of rows of each part
 * is known, so that readers can fill preallocated columns side by side. Threads may read
 * different parts at the same time. There are three backends: the database's source, if it
 * has one (source.h), a decoder of table leaf pages (page.h), and SQLite for everything
 * else (nsx_scan_backend names it). The last two give the same cells, except that a cell
 * over NSX_MAX_CELL is cut by the page decoder and is an error with SQLite.
 */
#pragma once

#include "sqlite/db.h"

struct nsx_scan;

/* Called for each row; v has one value per requested column, in the order asked. A non-zero
 * result ends the scan with that code, and the callee has filled *err; damage (nsx_is_damage) may
 * end a page only.
 */
typedef int (*nsx_row_fn)(void *ctx, int64_t rid, const struct nsx_val *v, struct nsx_err *err);

/* Plans a scan of ncolumns columns of table t in at most nparts parts; a NULL name reads as NULL.
 * Owner: the caller, nsx_scan_close. Errors: NSX_E_DATA if the table is too damaged to count its
 * rows.
 */
int nsx_scan_open(struct nsx_db *db, const struct nsx_table_info *t,
		  const char *const *columns, unsigned ncolumns,
		  unsigned nparts, struct nsx_scan **ret, struct nsx_err *err);
void nsx_scan_close(struct nsx_scan *s);

/* Allows the scan to leave out rows whose integer in `column` is outside [from, to). Must be called
 * before parts are asked for. If the integers grow nearly everywhere, only rows inside and the
 * table's first and last rows are read; otherwise all are. Only a sample of rows is checked, and an
 * inside row among outside rows is missed. The caller therefore widens [from, to) by how far rows
 * may be out of place. is_run: rows that are delivered one after the other must be neighbours in
 * the table; its first and last rows may then be missing.
 */
int nsx_scan_near(struct nsx_scan *s, const struct nsx_table_info *t,
		  const char *column, int64_t from, int64_t to, bool is_run,
		  struct nsx_err *err) NSX_CHECKED;

unsigned nsx_scan_parts(const struct nsx_scan *s);
/* An upper bound of a part's rows; exact if the table is sound. After this call nsx_scan_run never
 * delivers more, even if the file changes. The first call reads the head of every page, on several
 * threads, so a scan that only sums up rows should not make it. To be called from one thread,
 * before parts are run.
 */
size_t nsx_scan_rows(struct nsx_scan *s, unsigned part);
const char *nsx_scan_backend(const struct nsx_scan *s); /* "source", ... */

/* The blocks of neighbouring rows of a part that are read. A block is a few hundred rows with the
 * page backend, and a whole part with SQLite. Blocks are numbered across all parts.
 */
struct nsx_choice {
	/* Whether to read a block; NULL: all are read. */
	bool (*wants)(void *ctx, size_t block);
	size_t at; /* set to the block of the current row */
	/* is_cut: rows whose first column is an integer outside [from, to) may be skipped. They are
	 * if that is cheaper than reading them.
	 */
	bool is_cut;
	int64_t from, to;
};
/* The first block of a part; for the number of parts: the number of blocks. */
size_t nsx_scan_first_block(const struct nsx_scan *s, unsigned part);

/* Reads one part in row order; choice NULL: all of it. Errors: NSX_E_DATA where a page is
 * damaged (what else can be read has been delivered), NSX_E_STOP, or the callee's.
 */
int nsx_scan_run(struct nsx_scan *s, unsigned part, struct nsx_choice *choice,
		 nsx_row_fn fn, void *ctx, struct nsx_err *err);

/* One of several scans of a source that are run together. */
struct nsx_scan_share {
	struct nsx_scan *scan;
	struct nsx_choice *choice;
	nsx_row_fn fn;
	/* Called instead of fn for rows that equal the earlier ones with `first` in their first
	 * column, but for having `id` there. False: the rows are needed. NULL: always.
	 */
	bool (*again)(void *ctx, int64_t first, int64_t id);
	void *ctx;
};
/* Divides scans of a source into parts of the same blocks, so that each block is read once for all
 * of them. Must be called before parts are asked for.
 */
bool nsx_scan_can_join(const struct nsx_scan *s); /* whether it is of a source */
int nsx_scan_join(const struct nsx_scan_share *v, size_t n, struct nsx_err *err) NSX_CHECKED;
/* Runs a part of joined scans. An error is one of all scans. */
int nsx_scan_run_joined(const struct nsx_scan_share *v, size_t n, unsigned part,
			struct nsx_err *err) NSX_CHECKED;
