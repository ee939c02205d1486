/* db.h - a trace database, opened read-only and defensively; and our own databases in memory.
 *
 * The file is opened immutable: in any journal mode SQLite takes no lock, writes no journal and
 * creates no file beside it. Views, virtual tables and tables with generated
 * columns are listed as such and never read as tables. Only db.c includes sqlite3.h.
 */
#pragma once

#include "base/str.h"

struct nsx_db;

struct nsx_column {
	const char *name;
	const char *type;	  /* as declared, "" if not           */
	const char *default_text; /* SQL text of the default, or NULL */
	bool is_rowid;		  /* INTEGER PRIMARY KEY              */
};

enum nsx_table_kind { /* only the first two are read */
	NSX_TK_PLAIN, NSX_TK_NO_ROWID, NSX_TK_VIEW, NSX_TK_VIRTUAL,
	NSX_TK_GENERATED, /* has generated columns                    */
	NSX_TK_DAMAGED,	  /* its definition is damaged                */
};
extern const char *const nsx_table_kinds[]; /* "table", "view", ...   */
struct nsx_table_info {
	const char *name;
	struct nsx_column *columns;
	unsigned ncolumns;
	uint32_t root_page;
	enum nsx_table_kind kind;
};
static inline bool nsx_is_readable(const struct nsx_table_info *t)
{
	return t->kind <= NSX_TK_NO_ROWID;
}

/* Opens path. Errors: NSX_E_IO or NSX_E_SCHEMA with a message that says what the file is and what
 * to do; NSX_E_DATA if its list of tables is lost. Owner: the caller, nsx_db_close.
 */
int nsx_db_open(const char *path, struct nsx_db **ret, struct nsx_err *err);
void nsx_db_close(struct nsx_db *db); /* NULL is fine */

/* Databases in memory, for our own files (digests), are made here and travel as one block of
 * bytes. An image from elsewhere is opened with all defences of nsx_db_open; messages call it by
 * `name`.
 */

/* Makes a new, empty, writable database. Owner: the caller, nsx_db_close. */
int nsx_db_new(struct nsx_db **ret, struct nsx_err *err) NSX_CHECKED;
/* The bytes of the database. The same statements give the same bytes with one SQLite version.
 * Borrowed until the next statement.
 */
int nsx_db_image(struct nsx_db *db, const void **ret, size_t *ret_n,
		 struct nsx_err *err) NSX_CHECKED;
/* Opens an image, which must stay in place until nsx_db_close. Errors: NSX_E_SCHEMA, NSX_E_DATA. */
int nsx_db_open_image(const void *image, size_t n, const char *name,
		      struct nsx_db **ret, struct nsx_err *err) NSX_CHECKED;

/* Makes another connection to the same file, for another thread. It is opened at its first use,
 * and has no table list and no views. Owner: the caller.
 */
struct nsx_db *nsx_db_clone(const struct nsx_db *db);

/* From now on scans of db use SQLite only, to compare backends. */
void nsx_db_force_sqlite(struct nsx_db *db);
void nsx_db_use_library(void); /* forces SQLite for all databases opened from now on */

/* The file as numbered pages (page_file.h), for the page backend of scan.h; NULL if SQLite must
 * read the file. Owner: db.
 */
struct nsx_pagefile;
const struct nsx_pagefile *nsx_db_pages(struct nsx_db *db);

/* Whether the file was written to, cut or replaced since it was opened. What was read may then mix
 * both states.
 */
bool nsx_db_has_changed(const struct nsx_db *db);
#define NSX_CHANGED                                                            \
	"the file was changed while it was read: figures may mix what was "    \
	"there before and after; run this again"

const char *nsx_db_path(const struct nsx_db *db);
int64_t nsx_db_size(const struct nsx_db *db); /* bytes of the file */
const char *nsx_db_sqlite_version(void);

/* Everything in the catalogue, in catalogue order. */
const struct nsx_table_info *nsx_db_tables(const struct nsx_db *db, size_t *ret_n);
/* Finds a table by its exact name, else ignoring case; NULL if there is none. */
const struct nsx_table_info *nsx_db_table(const struct nsx_db *db, const char *name);
int nsx_column_find(const struct nsx_table_info *t, const char *name);

/* A warning about the file itself: a pending journal or WAL that was not applied, or pages missing
 * at the end. NULL if there is none.
 */
const char *nsx_db_warning(const struct nsx_db *db);
/* Says which contents of a sound file this program does not know, and so did not read. NULL: none.
 */
const char *nsx_db_note(const struct nsx_db *db);

/* Statements -----------------------------------------------------------*/
struct nsx_stmt;

int nsx_db_exec(struct nsx_db *db, const char *sql, struct nsx_err *err);
int nsx_db_prepare(struct nsx_db *db, const char *sql, struct nsx_stmt **ret,
		   struct nsx_err *err) NSX_CHECKED;
/* Prepares head, a quoted name from the file, and tail as one statement. */
int nsx_db_prepare_on(struct nsx_db *db, const char *head, const char *name,
		      const char *tail, struct nsx_stmt **ret, struct nsx_err *err) NSX_CHECKED;
void nsx_stmt_done(struct nsx_stmt **s); /* for NSX_AT_EXIT; NULL is fine */

/* Returns 1 for a row, 0 at the end, negative for a failure. */
int nsx_step(struct nsx_stmt *s, struct nsx_err *err) NSX_CHECKED;
int nsx_stmt_columns(struct nsx_stmt *s);
const char *nsx_stmt_column_name(struct nsx_stmt *s, int col);

/* Makes db safe for SQL that others wrote. From now on only SELECT is allowed, on tables and
 * columns that may_read allows, with functions that only compute. The process may allocate at most
 * max_bytes more through SQLite. There is no time limit, and a single step may take forever, so
 * such SQL must run in a child process (base/child.h). Further errors of nsx_step and
 * nsx_db_prepare then: NSX_E_DENIED, NSX_E_NAME, NSX_E_NOMEM.
 */
void nsx_db_guard(struct nsx_db *db, bool (*may_read)(void *ctx, const char *table,
						      const char *column),
		  void *ctx, int64_t max_bytes);

enum nsx_val_type { NSX_V_NULL, NSX_V_I64, NSX_V_F64, NSX_V_TEXT, NSX_V_BLOB };

struct nsx_val { /* a cell as stored; text is borrowed until the next row */
	enum nsx_val_type type;
	uint32_t len; /* bytes of text or blob */
	union {
		int64_t i;
		double f;
		const char *p; /* not NUL-terminated */
	} u;
};
void nsx_read_val(struct nsx_stmt *s, int col, struct nsx_val *ret);
/* Reads the number in the first cell of a statement's first row; `absent` if there is no row. */
int nsx_db_number(struct nsx_db *db, const char *sql, int64_t absent,
		  int64_t *ret, struct nsx_err *err) NSX_CHECKED;

/* Runs a statement without rows (an INSERT) with n parameter values, and resets it for the next. */
int nsx_run_with(struct nsx_stmt *s, const struct nsx_val *v, int n,
		 struct nsx_err *err) NSX_CHECKED;

static inline struct nsx_val nsx_val_int(int64_t i)
{
	return (struct nsx_val){NSX_V_I64, 0, {.i = i}};
}
static inline struct nsx_val nsx_val_blob(const void *p, size_t n)
{
	return (struct nsx_val){NSX_V_BLOB, (uint32_t)n, {.p = p}};
}
static inline struct nsx_val nsx_val_str(const char *s) /* NULL gives a null */
{
	return s ? (struct nsx_val){NSX_V_TEXT, (uint32_t)strlen(s), {.p = s}} :
		   (struct nsx_val){NSX_V_NULL, 0, {0}};
}

/* Appends a name from the file as an SQL identifier in double quotes. */
void nsx_sql_name(struct nsx_buf *b, const char *name);
