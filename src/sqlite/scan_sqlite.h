/* scan_sqlite.h - the SQLite backend of scan.h, with the same contracts. */
#ifndef NSX_SCAN_SQLITE_H
#define NSX_SCAN_SQLITE_H

#include "sqlite/scan.h"

struct nsx_sqlscan;

int nsx_sqlscan_open(struct nsx_db *db, const struct nsx_table_info *t,
		     const char *const *columns, unsigned ncolumns,
		     unsigned nparts, struct nsx_sqlscan **ret, struct nsx_err *err);
void nsx_sqlscan_close(struct nsx_sqlscan *s);
unsigned nsx_sqlscan_parts(const struct nsx_sqlscan *s);
size_t nsx_sqlscan_rows(const struct nsx_sqlscan *s, unsigned part);
int nsx_sqlscan_run(struct nsx_sqlscan *s, unsigned part, nsx_row_fn fn,
		    void *ctx, struct nsx_err *err);

#endif
