/* scan.h - reads chosen columns of one table, once, in parts.
 *
 * A plan divides the table into parts of consecutive rows with a known number
 * of rows each, so that readers can fill preallocated columns side by side.
 * Parts may be read by different threads at the same time. Three backends: the
 * source of a database that has one (source.h), a decoder of table leaf pages (page.h),
 * and SQLite for whatever that one does not take (nsx_scan_backend tells).  Both give the same cells, except that a
 * cell over NSX_MAX_CELL is cut by the first and fails with the second.
 */
#ifndef NSX_SCAN_H
#define NSX_SCAN_H

#include "sqlite/db.h"

struct nsx_scan;

/* Non-zero ends the scan with that code; *err is then filled by the callee.
 * v has one value per requested column, in the order asked.
 */
typedef int (*nsx_row_fn)(void *ctx, int64_t rid, const struct nsx_val *v,
			  struct nsx_err *err);

/* Plans a scan of `columns` (ncolumns names; a NULL name reads as NULL) of
 * table t in at most nparts parts (may be fewer).  Owner: nsx_scan_close.
 * Errors: NSX_E_DATA where the table is damaged beyond counting.
 */
int nsx_scan_open(struct nsx_db *db, const struct nsx_table_info *t,
		  const char *const *columns, unsigned ncolumns,
		  unsigned nparts, struct nsx_scan **ret, struct nsx_err *err);
void nsx_scan_close(struct nsx_scan *s);

/* Before parts are asked for: rows outside [from, to) may be left out, to go by the
 * integers in `column`.  Where these grow nearly everywhere, the parts are then little
 * more than the rows inside, and the first and the last of the table; else all rows.
 * Only some rows are looked at: one inside is missed if it stands among rows outside,
 * so who asks adds to [from, to) how far rows may be from their place.
 * is_run: rows that follow each other do so in the table, too; the first and the last of it
 * may be missing.
 */
int nsx_scan_near(struct nsx_scan *s, const struct nsx_table_info *t,
		  const char *column, int64_t from, int64_t to, bool is_run,
		  struct nsx_err *err) NSX_CHECKED;

unsigned nsx_scan_parts(const struct nsx_scan *s);
/* An upper bound of the rows of a part; exact where the table is sound.  Once
 * asked for, nsx_scan_run never delivers more, whatever happens to the file.
 * Cost: the first call looks at the head of every page, the parts side by
 * side on threads; who only folds rows should not ask.  One thread asks, before
 * parts are run.
 */
size_t nsx_scan_rows(const struct nsx_scan *s, unsigned part);
const char *nsx_scan_backend(const struct nsx_scan *s); /* "source", ... */

/* What of a part is read.  Rows that are neighbours in the file, some hundreds with
 * the one backend and a part with the other, are a block; blocks are counted over all
 * parts.
 */
struct nsx_choice {
	/* Whether a block is to be read; NULL: all are. */
	bool (*wants)(void *ctx, size_t block);
	size_t at; /* told: the block of the row handed over */
	/* Rows whose first cell asked for is an integer outside [from, to) may
	 * be passed over, and are where that is cheaper than to read them.
	 */
	bool is_cut;
	int64_t from, to;
};
/* The first of a part; of the number of parts: how many there are. */
size_t nsx_scan_first_block(const struct nsx_scan *s, unsigned part);

/* Reads one part in row order; choice NULL: all of it.  Errors: NSX_E_DATA where a
 * page is damaged (the rows before it have been delivered), NSX_E_STOP, or the
 * callee's.
 */
int nsx_scan_run(struct nsx_scan *s, unsigned part, struct nsx_choice *choice,
		 nsx_row_fn fn, void *ctx, struct nsx_err *err);

#endif
