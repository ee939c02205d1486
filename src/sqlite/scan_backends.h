/* scan_backends.h - the backends of scan.h. */
#pragma once

#include "sqlite/source.h"

struct nsx_scan { /* the first member of each backend's own struct */
	const struct nsx_scan_backend *backend;
	unsigned nparts;
};

struct nsx_scan_backend { /* the contracts of the functions are those of scan.h */
	const char *name;
	/* *ret stays NULL where the backend cannot read the file or the table. */
	int (*open)(struct nsx_db *db, const struct nsx_table_info *t,
		    const char *const *columns, unsigned ncolumns, unsigned nparts,
		    struct nsx_scan **ret, struct nsx_err *err);
	void (*close)(struct nsx_scan *s);
	/* NULL: no row is ever left out */
	int (*near)(struct nsx_scan *s, const struct nsx_table_info *t, const char *column,
		    int64_t from, int64_t to, bool is_run, struct nsx_err *err);
	size_t (*rows)(struct nsx_scan *s, unsigned part);
	/* NULL: each part is one block */
	size_t (*first_block)(const struct nsx_scan *s, unsigned part);
	int (*run)(struct nsx_scan *s, unsigned part, struct nsx_choice *choice, nsx_row_fn fn,
		   void *ctx, struct nsx_err *err);
};

/* Tables of a source; leaf pages, read without SQLite, of which damage leaves out a part and is no
 * error; SQLite.
 */
extern const struct nsx_scan_backend nsx_source_backend, nsx_page_backend, nsx_sqlite_backend;
