/* source.h - tables that stand in no SQLite file: a reader of another format makes their
 * rows when they are asked for.
 *
 * Scans get rows straight from the reader; SQL finds a table of SQLite, which is filled
 * when a statement first reads it.
 */
#ifndef NSX_SOURCE_H
#define NSX_SOURCE_H

#include "sqlite/scan.h"

struct nsx_source_reader; /* what one thread reads with                        */

struct nsx_source {
	void *ctx;
	/* The catalogue: tables with rows.  Numbers of tables are places in it. */
	struct nsx_table_info *tables;
	size_t ntables;
	/* How many records of a table are there that cannot be read. */
	uint64_t (*unread)(void *ctx, const char *table);
	/* Rows of a table come in blocks, in their order; a block has exactly so
	 * many, unless it turns out damaged.
	 */
	size_t (*blocks)(void *ctx, size_t table);
	size_t (*rows)(void *ctx, size_t table, size_t block);
	/* Of these columns (places in the table; -1: reads as NULL), which must
	 * stay.  Owner: the caller, done.
	 */
	int (*reader)(void *ctx, size_t table, const int *columns,
		      unsigned ncolumns, struct nsx_source_reader **ret,
		      struct nsx_err *err);
	/* Hands over each row of a block; rid is that of the first. */
	int (*read)(struct nsx_source_reader *r, size_t block, int64_t rid,
		    nsx_row_fn fn, void *ctx, struct nsx_err *err);
	void (*done)(struct nsx_source_reader *r);
	void (*close)(void *ctx);
};

/* A database of these tables, which stands for the file at path: it owns what source
 * has.  warning, note: see nsx_db_warning and nsx_db_note; NULL: nothing.  Owner: the
 * caller, nsx_db_close.  Errors: NSX_E_IO; the source is closed then, too.
 */
int nsx_db_of_source(const struct nsx_source *source, const char *path,
		     const char *warning, const char *note, struct nsx_db **ret,
		     struct nsx_err *err) NSX_CHECKED;
/* NULL: it is a file of SQLite. */
const struct nsx_source *nsx_db_source(const struct nsx_db *db);
int64_t nsx_source_rows(const struct nsx_source *s, size_t table);
/* Fills all tables, so that nsx_db_image is a whole export. */
int nsx_db_fill(struct nsx_db *db, struct nsx_err *err) NSX_CHECKED;

#endif
