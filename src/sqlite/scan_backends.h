/* scan_backends.h - the three backends of scan.h. The contracts of their functions are those of
 * scan.h.
 */
#ifndef NSX_SCAN_BACKENDS_H
#define NSX_SCAN_BACKENDS_H

#include "sqlite/source.h"

/* The backend for tables of a source. *ret is NULL if db has none. */
struct nsx_sourcescan;
int nsx_sourcescan_open(struct nsx_db *db, const struct nsx_table_info *t,
			const char *const *columns, unsigned ncolumns,
			unsigned nparts, struct nsx_sourcescan **ret, struct nsx_err *err);
void nsx_sourcescan_near(struct nsx_sourcescan *s, int64_t from, int64_t to, bool is_run);
void nsx_sourcescan_close(struct nsx_sourcescan *s); /* NULL is fine */
unsigned nsx_sourcescan_parts(const struct nsx_sourcescan *s);
size_t nsx_sourcescan_rows(const struct nsx_sourcescan *s, unsigned part);
size_t nsx_sourcescan_first_block(const struct nsx_sourcescan *s, unsigned part);
/* Returns NULL for a scan with another backend. */
struct nsx_sourcescan *nsx_sourcescan_of(const struct nsx_scan *s);

/* The backend that reads leaf pages without SQLite. *ret is NULL where it cannot read the file or
 * table. Damage is no error here: the scan leaves it out.
 */
struct nsx_pagescan;
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

/* The backend that uses SQLite. */
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
