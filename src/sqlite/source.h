/* source.h - tables that are in no SQLite file: a reader of another format makes their rows
 * on demand.
 *
 * Scans get rows straight from the reader. For SQL there is an empty SQLite table, which is
 * filled when a statement first reads it.
 */
#pragma once

#include "sqlite/scan.h"

struct nsx_source_reader; /* the state of one reading thread                   */

/* One table of a reading, and who gets its rows. */
struct nsx_source_use {
	size_t table;
	const int *columns; /* indices in the table; -1: NULL                */
	unsigned ncolumns;
	nsx_row_fn fn; /* called for each row                                */
	/* called instead of fn for repeated rows (struct nsx_scan_share) */
	bool (*again)(void *ctx, int64_t first, int64_t id);
	void *ctx;
	bool is_wanted; /* rows of the block that is read next are wanted    */
	int64_t rid;	/* row id of the next row                            */
};

struct nsx_source {
	void *ctx;
	/* The tables that have rows. A table is named by its index here. */
	struct nsx_table_info *tables;
	size_t ntables;
	/* The number of unreadable records of a table. */
	uint64_t (*unread)(void *ctx, const char *table);
	/* Return the number of blocks of a table, and of rows in a block. Blocks are in row order,
	 * and the same block may have rows of several tables. A damaged block delivers fewer rows.
	 */
	size_t (*blocks)(void *ctx, size_t table);
	size_t (*rows)(void *ctx, size_t table, size_t block);
	/* Finds bounds [*least, *most] of the times at which a block's rows begin; if they are
	 * unknown, bounds that no row exceeds.
	 */
	void (*when)(void *ctx, size_t table, size_t block, int64_t *least, int64_t *most);
	/* Makes a reader for n uses, one for each of its tables, which must stay valid. Owner: the
	 * caller, done.
	 */
	int (*reader)(void *ctx, struct nsx_source_use *uses, size_t n,
		      struct nsx_source_reader **ret, struct nsx_err *err);
	/* Hands over the wanted rows of a block. */
	int (*read)(struct nsx_source_reader *r, size_t block, struct nsx_err *err);
	void (*done)(struct nsx_source_reader *r);
	void (*close)(void *ctx);
};

/* Makes a database of these tables in place of the file at path, and takes over the source, which
 * is closed on failure, too. warning, note: see nsx_db_warning and nsx_db_note; may be NULL.
 * Owner: the caller, nsx_db_close. Errors: NSX_E_IO.
 */
int nsx_db_of_source(const struct nsx_source *source, const char *path,
		     const char *warning, const char *note, struct nsx_db **ret,
		     struct nsx_err *err) NSX_CHECKED;
/* The source of a database; NULL for a SQLite file. */
const struct nsx_source *nsx_db_source(const struct nsx_db *db);
int64_t nsx_source_rows(const struct nsx_source *s, size_t table);
/* Fills all tables, so that nsx_db_image is a whole export. */
int nsx_db_fill(struct nsx_db *db, struct nsx_err *err) NSX_CHECKED;
