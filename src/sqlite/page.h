/* page.h - the page backend of scan.h: reads leaf pages without SQLite. */
#ifndef NSX_PAGE_H
#define NSX_PAGE_H

#include "sqlite/scan.h"

struct nsx_pagescan;

/* Like nsx_scan_open, but *ret is NULL where this backend cannot read the file or table.
 * Damage is no error here: the scan leaves it out.
 */
int nsx_pagescan_open(struct nsx_db *db, const struct nsx_table_info *t,
		      const char *const *columns, unsigned ncolumns,
		      unsigned nparts, struct nsx_pagescan **ret, struct nsx_err *err);
void nsx_pagescan_close(struct nsx_pagescan *s); /* NULL is fine */
int nsx_pagescan_near(struct nsx_pagescan *s, const struct nsx_table_info *t,
		      const char *column, int64_t from, int64_t to, bool is_run,
		      struct nsx_err *err);
unsigned nsx_pagescan_parts(const struct nsx_pagescan *s);
size_t nsx_pagescan_rows(struct nsx_pagescan *s, unsigned part);
size_t nsx_pagescan_first_block(const struct nsx_pagescan *s, unsigned part);
int nsx_pagescan_run(struct nsx_pagescan *s, unsigned part,
		     struct nsx_choice *choice, nsx_row_fn fn, void *ctx, struct nsx_err *err);

#endif
