/* scan_source.h - the backend of scan.h for tables of a source, with the same contracts. */
#ifndef NSX_SCAN_SOURCE_H
#define NSX_SCAN_SOURCE_H

#include "sqlite/source.h"

struct nsx_sourcescan;

/* *ret is NULL if db has no source. */
int nsx_sourcescan_open(struct nsx_db *db, const struct nsx_table_info *t,
			const char *const *columns, unsigned ncolumns,
			unsigned nparts, struct nsx_sourcescan **ret, struct nsx_err *err);
void nsx_sourcescan_near(struct nsx_sourcescan *s, int64_t from, int64_t to, bool is_run);
void nsx_sourcescan_close(struct nsx_sourcescan *s); /* NULL is fine */
unsigned nsx_sourcescan_parts(const struct nsx_sourcescan *s);
size_t nsx_sourcescan_rows(const struct nsx_sourcescan *s, unsigned part);
size_t nsx_sourcescan_first_block(const struct nsx_sourcescan *s, unsigned part);
int nsx_sourcescan_run(struct nsx_sourcescan *s, unsigned part,
		       struct nsx_choice *choice, nsx_row_fn fn, void *ctx, struct nsx_err *err);

#endif
