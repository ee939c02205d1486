/* db.c - the only file that includes sqlite3.h.
 *
 * sniff.c first opens the file and finds out its kind without SQLite. SQLite then reads
 * that file descriptor, with all its defences against a database written by others.
 */
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sqlite/db.h"
#include "sqlite/page_file.h"
#include "sqlite/sniff.h"
#include "sqlite/source.h"

struct nsx_db {
	sqlite3 *handle; /* NULL: not opened yet (open_handle_once) */
	int fd; /* the file; -1: in memory, or closed */
	bool is_clone; /* fd belongs to the database from which this one was cloned */
	struct nsx_arena *arena;
	const char *path;
	int64_t size;
	const char *warning, *note;
	struct stat opened; /* state of the file when opened */
	bool is_lenient;
	struct nsx_table_info *tables;
	size_t ntables;
	struct guard {
		bool (*may_read)(void *ctx, const char *table, const char *column);
		void *ctx;
	} guard;
	struct nsx_pagefile *pages; /* opened by the first scan */
	bool no_pages;
	struct nsx_source own; /* owned by a database made from a source     */
	/* Own, or that of the database from which this one was cloned; NULL: a file. */
	const struct nsx_source *source;
	enum fill { EMPTY, WANTED, FILLED } *fill; /* one for each index of the table */
	bool is_filling;
};

const char *const nsx_table_kinds[] = {
	[NSX_TK_PLAIN] = "table", [NSX_TK_NO_ROWID] = "table without rowid",
	[NSX_TK_VIEW] = "view", [NSX_TK_VIRTUAL] = "virtual table",
	[NSX_TK_GENERATED] = "table with generated columns",
	[NSX_TK_DAMAGED] = "table with a damaged definition",
};

/* A struct nsx_stmt is SQLite's own statement. */
static sqlite3_stmt *handle_of(struct nsx_stmt *s)
{
	return (sqlite3_stmt *)s;
}

static struct nsx_db *new_db(const char *path, int64_t size)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_db *db = nsx_arena_get(a, sizeof(*db));

	*db = (struct nsx_db){.arena = a, .path = nsx_arena_strdup(a, path),
			      .size = size, .fd = -1};
	return db;
}

const char *nsx_db_path(const struct nsx_db *db)
{
	return db->path;
}

int64_t nsx_db_size(const struct nsx_db *db)
{
	return db->size;
}

const char *nsx_db_sqlite_version(void)
{
	return sqlite3_libversion();
}

const char *nsx_db_warning(const struct nsx_db *db)
{
	return db->warning;
}

const char *nsx_db_note(const struct nsx_db *db)
{
	return db->note;
}

bool nsx_db_has_changed(const struct nsx_db *db)
{
	const struct stat *then = &db->opened;
	struct stat now;

	/* A file that was deleted is fine: it was read to its end, or reading it has failed. */
	return !stat(db->path, &now) &&
	       (now.st_dev != then->st_dev || now.st_ino != then->st_ino ||
		now.st_size != then->st_size ||
		now.st_mtim.tv_sec != then->st_mtim.tv_sec ||
		now.st_mtim.tv_nsec != then->st_mtim.tv_nsec);
}

const struct nsx_table_info *nsx_db_tables(const struct nsx_db *db, size_t *ret_n)
{
	*ret_n = db->ntables;
	return db->tables;
}

const struct nsx_table_info *nsx_db_table(const struct nsx_db *db, const char *name)
{
	for (size_t i = 0; i < db->ntables; i++)
		if (!strcmp(db->tables[i].name, name))
			return &db->tables[i];
	for (size_t i = 0; i < db->ntables; i++)
		if (!strcasecmp(db->tables[i].name, name))
			return &db->tables[i];
	return NULL;
}

int nsx_column_find(const struct nsx_table_info *t, const char *name)
{
	for (unsigned i = 0; i < t->ncolumns; i++)
		if (!strcasecmp(t->columns[i].name, name))
			return (int)i;
	return -1;
}

void nsx_sql_name(struct nsx_buf *b, const char *name)
{
	nsx_buf_adds(b, "\"");
	for (; *name; name++) {
		if (*name == '"')
			nsx_buf_adds(b, "\"");
		nsx_buf_add(b, name, 1);
	}
	nsx_buf_adds(b, "\"");
}

/* Derives the error code from the text of the message, because SQLite has no result codes of their
 * own for unknown names and forbidden functions.
 */
static enum nsx_rc rc_of_message(const char *message)
{
	return !strncmp(message, "no such ", 8) ? NSX_E_NAME :
	       !strncmp(message, "not authorized", 14) ? NSX_E_DENIED :
							NSX_E_DB;
}

/* Translates SQLite's result code. A long statement is cut so that the reason has room. */
static int fail_db(struct nsx_err *err, sqlite3 *handle, const char *what, const char *subject)
{
	int code = handle ? sqlite3_errcode(handle) : SQLITE_NOMEM;

	switch (code & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_IOERR:
		return nsx_fail(err, NSX_E_DATA, "%s '%.500s': damaged: %s", what,
				subject, sqlite3_errmsg(handle));
	case SQLITE_INTERRUPT:
		return nsx_fail(err, NSX_E_STOP, "interrupted; nothing was written");
	case SQLITE_NOMEM:
		return nsx_fail(err, NSX_E_NOMEM, "%s '%.500s': out of memory", what, subject);
	case SQLITE_AUTH:
		return nsx_fail(err, NSX_E_DENIED, "%s '%.500s': %s", what, subject,
				sqlite3_errmsg(handle));
	default:
		return nsx_fail(err, NSX_E_DB, "%s '%.500s': %s", what, subject,
				sqlite3_errmsg(handle));
	}
}

/* Says nothing of the statement if the file is damaged: it is not to blame. */
static int fail_statement(struct nsx_err *err, sqlite3 *handle, const char *what, const char *sql)
{
	fail_db(err, handle, what, sql);
	return err->rc != NSX_E_DATA ? err->rc : nsx_fail(err, NSX_E_DATA, "the file is damaged: %s",
							  sqlite3_errmsg(handle));
}

/* Called every 10 000 virtual-machine steps; ends a statement when interrupted. */
static int on_progress(void *unused NSX_UNUSED)
{
	return __atomic_load_n(&nsx_stop_flag, __ATOMIC_RELAXED);
}

static void set_limits(sqlite3 *h)
{
	sqlite3_limit(h, SQLITE_LIMIT_LENGTH, NSX_MAX_CELL);
	sqlite3_limit(h, SQLITE_LIMIT_SQL_LENGTH, 1024 * 1024);
	sqlite3_limit(h, SQLITE_LIMIT_COLUMN, 2000);
	sqlite3_limit(h, SQLITE_LIMIT_EXPR_DEPTH, 200);
	sqlite3_limit(h, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(h, SQLITE_LIMIT_TRIGGER_DEPTH, 0);
	sqlite3_limit(h, SQLITE_LIMIT_WORKER_THREADS, 0);
}

/* Makes SQLite accept files that are shorter than their header says, and files with an unreadable
 * table definition. By default it refuses both.
 */
static void accept_damaged_files(sqlite3 *h)
{
	sqlite3_db_config(h, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
	sqlite3_db_config(h, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
}

static void set_defences(sqlite3 *h)
{
	sqlite3_extended_result_codes(h, 1);
	sqlite3_db_config(h, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(h, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(h, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(h, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	sqlite3_db_config(h, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_db_config(h, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	set_limits(h);
	sqlite3_progress_handler(h, 10000, on_progress, NULL);
	sqlite3_exec(h, "PRAGMA cell_size_check=1;PRAGMA mmap_size=0;PRAGMA "
		     "temp_store=MEMORY;PRAGMA cache_size=-2048", NULL, NULL, NULL);
}

/* A file by its descriptor ---------------------------------------------------*/

/* SQLite opens files by name. This VFS makes it use the descriptor that sniff.c has opened
 * and checked, even if the path leads elsewhere by now. The file name is the descriptor's number.
 * Nothing is written or locked.
 */
struct file {
	sqlite3_file base;
	int fd;
};

static int db_read_file(sqlite3_file *f, void *to, int n, sqlite3_int64 from)
{
	char *p = to;

	while (n) {
		ssize_t got = pread(((struct file *)f)->fd, p, (size_t)n, from);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return SQLITE_IOERR_READ;
		if (!got) {
			memset(p, 0, (size_t)n);
			return SQLITE_IOERR_SHORT_READ;
		}
		p += got;
		from += got;
		n -= (int)got;
	}
	return SQLITE_OK;
}

static int size_of_file(sqlite3_file *f, sqlite3_int64 *ret)
{
	struct stat st;

	if (fstat(((struct file *)f)->fd, &st))
		return SQLITE_IOERR_FSTAT;
	*ret = st.st_size;
	return SQLITE_OK;
}

static int vfs_do_nothing(sqlite3_file *f NSX_UNUSED)
{
	return SQLITE_OK;
}

static int vfs_lock_nothing(sqlite3_file *f NSX_UNUSED, int how NSX_UNUSED)
{
	return SQLITE_OK;
}

static int refuse_file_control(sqlite3_file *f NSX_UNUSED, int what NSX_UNUSED,
			       void *arg NSX_UNUSED)
{
	return SQLITE_NOTFOUND;
}

static int report_immutable(sqlite3_file *f NSX_UNUSED)
{
	return SQLITE_IOCAP_IMMUTABLE;
}

static int db_open_file(sqlite3_vfs *vfs NSX_UNUSED, const char *name, sqlite3_file *f,
			int flags, int *ret_flags)
{
	static const sqlite3_io_methods methods = {
		.iVersion = 1, .xClose = vfs_do_nothing, .xRead = db_read_file,
		.xFileSize = size_of_file, .xLock = vfs_lock_nothing,
		.xUnlock = vfs_lock_nothing, .xFileControl = refuse_file_control,
		.xDeviceCharacteristics = report_immutable};

	f->pMethods = NULL;
	if (!name || !(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN;
	*(struct file *)f = (struct file){{&methods}, atoi(name)};
	if (ret_flags)
		*ret_flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
	return SQLITE_OK;
}

static int copy_full_path(sqlite3_vfs *vfs NSX_UNUSED, const char *name, int n, char *ret)
{
	snprintf(ret, (size_t)n, "%s", name);
	return SQLITE_OK;
}

#define VFS "nsx"

/* Registers the VFS. It takes clocks and random bytes from the default VFS. */
static void add_vfs(void)
{
	static sqlite3_vfs vfs;

	vfs = *sqlite3_vfs_find(NULL);
	vfs.zName = VFS;
	vfs.szOsFile = sizeof(struct file);
	vfs.xOpen = db_open_file;
	vfs.xFullPathname = copy_full_path;
	sqlite3_vfs_register(&vfs, 0);
}

static int open_handle(int fd, const char *path, sqlite3 **ret, struct nsx_err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char name[16];
	sqlite3 *h = NULL;
	int rc;

	(void)pthread_once(&once, add_vfs);
	snprintf(name, sizeof(name), "%d", fd);
	rc = sqlite3_open_v2(name, &h, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, VFS);
	if (rc) {
		rc = fail_db(err, h, "cannot open", path);
		sqlite3_close(h);
		return rc;
	}
	set_defences(h);
	*ret = h;
	return 0;
}

static const char *column_text(sqlite3_stmt *s, int col, struct nsx_arena *a)
{
	const char *t = (const char *)sqlite3_column_text(s, col);

	return t ? nsx_arena_strdup(a, t) : "";
}

/* Finds out whether the primary key of t has an index, and thus is not the row id; *ret: it has
 * one. INTEGER PRIMARY KEY DESC has an index.
 */
static int has_key_index(struct nsx_db *db, const struct nsx_table_info *t,
			 bool *ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_stmt_done) struct nsx_stmt *s = NULL;
	int rc = nsx_db_prepare_on(db, "PRAGMA main.index_list(", t->name, ")", &s, err);

	*ret = false;
	while (!rc && (rc = nsx_step(s, err)) == 1) {
		const unsigned char *origin = sqlite3_column_text(handle_of(s), 3);

		*ret = *ret || (origin && !strcmp((const char *)origin, "pk"));
		rc = 0;
	}
	return rc;
}

/* Fills the columns of t from PRAGMA table_xinfo. */
static int read_columns(struct nsx_db *db, struct nsx_table_info *t, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_stmt_done) struct nsx_stmt *s = NULL;
	struct nsx_column cols[NSX_MAX_COLUMNS];
	unsigned n = 0, nkeys = 0, key = 0;
	int rc = nsx_db_prepare_on(db, "PRAGMA main.table_xinfo(", t->name, ")", &s, err);

	if (rc)
		return rc;
	while ((rc = nsx_step(s, err)) == 1 && n < NSX_MAX_COLUMNS) {
		struct nsx_column *c = &cols[n];

		*c = (struct nsx_column){
			.name = column_text(handle_of(s), 1, db->arena),
			.type = column_text(handle_of(s), 2, db->arena),
		};
		if (sqlite3_column_type(handle_of(s), 4) != SQLITE_NULL)
			c->default_text = column_text(handle_of(s), 4, db->arena);
		if (sqlite3_column_int(handle_of(s), 5)) {
			nkeys++;
			key = n;
		}
		if (sqlite3_column_int(handle_of(s), 6) && nsx_is_readable(t))
			t->kind = NSX_TK_GENERATED;
		n++;
	}
	if (rc < 0)
		return rc;
	if (nkeys == 1 && !strcasecmp(cols[key].type, "INTEGER")) {
		bool has_index;

		rc = has_key_index(db, t, &has_index, err);
		if (rc)
			return rc;
		cols[key].is_rowid = !has_index;
	}
	if (!n && db->is_lenient)
		t->kind = NSX_TK_DAMAGED;
	t->ncolumns = n;
	t->columns = nsx_arena_get(db->arena, n * sizeof(*cols));
	if (n)
		memcpy(t->columns, cols, n * sizeof(*cols));
	return 0;
}

static enum nsx_table_kind table_kind_of(const char *type, uint32_t root_page, const char *sql)
{
	if (!strcmp(type, "view"))
		return NSX_TK_VIEW;
	if (!root_page)
		return NSX_TK_VIRTUAL;
	/* The page decoder cannot read tables without row ids. If a name or a comment contains
	 * these words, SQLite reads the table, which does no harm.
	 */
	return strcasestr(sql, "WITHOUT") && strcasestr(sql, "ROWID") ?
		       NSX_TK_NO_ROWID : NSX_TK_PLAIN;
}

static int read_catalogue(struct nsx_db *db, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_stmt_done) struct nsx_stmt *s = NULL;
	struct nsx_table_info *list = NULL;
	size_t n = 0, cap = 0;
	int rc;

	rc = nsx_db_prepare(db, "SELECT type, name, rootpage, coalesce(sql, '') FROM "
			    "main.sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE "
			    "'sqlite\\_%' ESCAPE '\\'", &s, err);
	while (!rc && (rc = nsx_step(s, err)) == 1) {
		uint32_t root = (uint32_t)sqlite3_column_int64(handle_of(s), 2);

		rc = nsx_push(list, n, cap, "tables", err,
			      (struct nsx_table_info){
				      .name = column_text(handle_of(s), 1, db->arena),
				      .root_page = root,
				      .kind = table_kind_of(
					      column_text(handle_of(s), 0, db->arena),
					      root,
					      column_text(handle_of(s), 3,
							  db->arena))});
	}
	if (rc == NSX_E_DATA && db->is_lenient)
		rc = 0; /* the tables listed so far remain */
	if (rc >= 0) {
		db->tables = nsx_arena_get(db->arena, (n + 1) * sizeof(*list));
		if (n)
			memcpy(db->tables, list, n * sizeof(*list));
		db->ntables = n;
	}
	free(list);
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		rc = read_columns(db, &db->tables[i], err);
		/* A view that cannot be resolved is skipped. */
		if (rc == NSX_E_DB && !nsx_is_readable(&db->tables[i]))
			rc = 0;
	}
	return rc < 0 ? nsx_wrap(err, "cannot read '%s'", db->path) : 0;
}

/* Lists the tables that can still be found in a damaged file. */
static int read_damaged_catalogue(struct nsx_db *db, struct nsx_err *err)
{
	struct nsx_err damage = *err;
	int rc;

	accept_damaged_files(db->handle);
	db->is_lenient = true;
	rc = read_catalogue(db, err);
	if (!rc && db->ntables) {
		if (!db->warning)
			db->warning = nsx_arena_printf(
				db->arena, "the list of tables is damaged, so tables may be "
				"missing from this report: %s", damage.msg);
		return 0;
	}
	return nsx_fail(err, NSX_E_DATA, "cannot read '%s': its list of tables is damaged or cut "
			"off; copy the file again, or export the report again", db->path);
}

void nsx_db_force_sqlite(struct nsx_db *db)
{
	db->no_pages = true;
}

static bool is_library_alone;

void nsx_db_use_library(void)
{
	is_library_alone = true;
}

const struct nsx_pagefile *nsx_db_pages(struct nsx_db *db)
{
	db->no_pages |= is_library_alone;
	if (!db->pages && !db->no_pages) {
		db->pages = nsx_pagefile_open(db->fd, db->path, db->size);
		db->no_pages = !db->pages;
	}
	return db->no_pages ? NULL : db->pages;
}

/* Databases in memory -------------------------------------------------------*/

/* Opens an image, or with image NULL a new, writable database. */
static int open_memory_handle(const void *image, size_t n, const char *name,
			      sqlite3 **ret, struct nsx_err *err)
{
	unsigned flags = image ? SQLITE_DESERIALIZE_READONLY :
				 SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE;
	sqlite3_int64 most = INT64_C(64) << 30;
	sqlite3 *h = NULL;
	int rc;

	rc = sqlite3_open_v2(":memory:", &h, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
						     SQLITE_OPEN_NOMUTEX, NULL);
	/* SQLite does not write to an image with these flags, so its const may be cast away. */
	if (!rc)
		rc = sqlite3_deserialize(h, "main", (void *)image,
					 (sqlite3_int64)n, (sqlite3_int64)n, flags);
	if (!rc && !image)
		rc = sqlite3_file_control(h, "main", SQLITE_FCNTL_SIZE_LIMIT, &most);
	if (rc) {
		rc = fail_db(err, h, "cannot open", name);
		sqlite3_close(h);
		return rc;
	}
	set_defences(h);
	*ret = h;
	return 0;
}

static int open_memory(const void *image, size_t n, const char *name,
		       struct nsx_db **ret, struct nsx_err *err)
{
	struct nsx_db *db = new_db(name, (int64_t)n);

	db->no_pages = true;
	if (open_memory_handle(image, n, name, &db->handle, err)) {
		nsx_db_close(db);
		return err->rc;
	}
	*ret = db;
	return 0;
}

int nsx_db_new(struct nsx_db **ret, struct nsx_err *err)
{
	return open_memory(NULL, 0, "a database in memory", ret, err);
}

int nsx_db_open_image(const void *image, size_t n, const char *name,
		      struct nsx_db **ret, struct nsx_err *err)
{
	if (n < 512 || memcmp(image, "SQLite format 3", 16))
		return nsx_fail(err, NSX_E_SCHEMA, "cannot read '%s': this is "
				"not a SQLite database", name);
	if (open_memory(image, n, name, ret, err))
		return err->rc;
	if (read_catalogue(*ret, err)) {
		nsx_db_close(*ret);
		*ret = NULL;
	}
	return *ret ? 0 : err->rc;
}

int nsx_db_image(struct nsx_db *db, const void **ret, size_t *ret_n, struct nsx_err *err)
{
	sqlite3_int64 n = 0;

	*ret = sqlite3_serialize(db->handle, "main", &n, SQLITE_SERIALIZE_NOCOPY);
	*ret_n = (size_t)n;
	return *ret ? 0 : fail_db(err, db->handle, "cannot take", db->path);
}

struct nsx_db *nsx_db_clone(const struct nsx_db *from)
{
	struct nsx_db *db = new_db(from->path, from->size);

	db->fd = from->fd;
	db->is_clone = true;
	db->is_lenient = from->is_lenient;
	db->source = from->source;
	db->no_pages = from->source != NULL;
	return db;
}

int nsx_db_open(const char *path, struct nsx_db **ret, struct nsx_err *err)
{
	struct nsx_sniff sniff;
	struct nsx_db *db;
	int rc = nsx_sniff_file(path, &sniff, err);

	if (rc)
		return rc;
	db = new_db(path, sniff.file.st_size);
	db->opened = sniff.file;
	db->fd = sniff.fd;
	if (*sniff.warning)
		db->warning = nsx_arena_strdup(db->arena, sniff.warning);
	rc = open_handle(db->fd, path, &db->handle, err) ?: read_catalogue(db, err);
	if (rc == NSX_E_DATA && (sqlite3_errcode(db->handle) & 0xff) == SQLITE_CORRUPT)
		rc = read_damaged_catalogue(db, err);
	if (rc) {
		nsx_db_close(db);
		return rc;
	}
	*ret = db;
	return 0;
}

void nsx_db_close(struct nsx_db *db)
{
	if (!db)
		return;
	sqlite3_close(db->handle);
	nsx_pagefile_close(db->pages);
	if (db->own.close)
		db->own.close(db->own.ctx);
	if (db->fd >= 0 && !db->is_clone)
		(void)close(db->fd);
	nsx_arena_free(db->arena);
}

/* Sources --------------------------------------------------------------------*/

int nsx_db_of_source(const struct nsx_source *source, const char *path,
		     const char *warning, const char *note, struct nsx_db **ret,
		     struct nsx_err *err)
{
	struct nsx_db *db = new_db(path, 0);

	db->own = *source;
	db->source = &db->own;
	db->no_pages = true;
	db->tables = source->tables;
	db->ntables = source->ntables;
	db->warning = warning ? nsx_arena_strdup(db->arena, warning) : NULL;
	db->note = note ? nsx_arena_strdup(db->arena, note) : NULL;
	if (stat(path, &db->opened)) {
		nsx_db_close(db);
		return nsx_fail(err, NSX_E_IO, "cannot stat '%s': %s", path, strerror(errno));
	}
	db->size = db->opened.st_size;
	*ret = db;
	return 0;
}

const struct nsx_source *nsx_db_source(const struct nsx_db *db)
{
	return db->source;
}

int64_t nsx_source_rows(const struct nsx_source *s, size_t table)
{
	size_t n = 0;

	for (size_t b = s->blocks(s->ctx, table); b-- > 0;)
		n += s->rows(s->ctx, table, b);
	return (int64_t)n;
}

static int authorise_sql_action(void *arg, int action, const char *table, const char *what,
				const char *schema, const char *view);

/* Creates the source's tables, empty until they are read. */
static int open_source(struct nsx_db *db, struct nsx_err *err)
{
	const struct nsx_source *s = db->source;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	int rc;

	for (size_t i = 0; i < s->ntables; i++) {
		const struct nsx_table_info *t = &s->tables[i];

		nsx_buf_printf(&b, "CREATE TABLE %s", t->name);
		for (unsigned c = 0; c < t->ncolumns; c++)
			nsx_buf_printf(&b, "%s\"%s\" %s%s", c ? ", " : " (",
				       t->columns[c].name, t->columns[c].type,
				       t->columns[c].is_rowid ? " PRIMARY KEY" : "");
		nsx_buf_adds(&b, ");");
	}
	db->fill = nsx_arena_get(db->arena, (s->ntables + 1) * sizeof(*db->fill));
	rc = open_memory_handle(NULL, 0, db->path, &db->handle, err);
	if (!rc && b.n && sqlite3_exec(db->handle, b.p, NULL, NULL, NULL))
		rc = fail_db(err, db->handle, "cannot open", db->path);
	if (!rc)
		sqlite3_set_authorizer(db->handle, authorise_sql_action, db);
	return rc;
}

/* Opens SQLite on demand: most clones only read pages, and SQLite parses the catalogue for
 * every connection.
 */
static int open_handle_once(struct nsx_db *db, struct nsx_err *err)
{
	if (db->handle)
		return 0;
	if (db->source)
		return open_source(db, err);
	if (open_handle(db->fd, db->path, &db->handle, err))
		return err->rc;
	if (db->is_lenient)
		accept_damaged_files(db->handle);
	return 0;
}

static int insert_row(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
		      struct nsx_err *err)
{
	struct nsx_stmt *insert = ctx;

	return nsx_run_with(insert, v, sqlite3_bind_parameter_count(handle_of(insert)), err);
}

/* Inserts all rows of a source's table. */
static int read_source(const struct nsx_source *source, size_t table,
		       struct nsx_stmt *insert, struct nsx_err *err)
{
	unsigned n = source->tables[table].ncolumns;
	size_t nblocks = source->blocks(source->ctx, table);
	struct nsx_source_reader *r;
	int columns[NSX_MAX_COLUMNS];
	struct nsx_source_use use = {table, columns, n, insert_row, NULL, insert, true, 1};
	int rc;

	for (unsigned i = 0; i < n; i++)
		columns[i] = (int)i;
	rc = source->reader(source->ctx, &use, 1, &r, err);
	if (rc)
		return rc;
	for (size_t b = 0; !rc && b < nblocks; b++)
		if (source->rows(source->ctx, table, b)) /* 0 if it cannot be decoded, too */
			rc = nsx_stopped(err) ?: source->read(r, b, err);
	source->done(r);
	return rc;
}

/* Copies the readable rows of a table, which may be damaged. */
static int copy_rows(struct nsx_db *db, size_t table, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_stmt_done) struct nsx_stmt *insert = NULL;
	const struct nsx_table_info *t = &db->source->tables[table];
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf marks = {0};
	int rc;

	for (unsigned i = 0; i < t->ncolumns; i++)
		nsx_buf_adds(&marks, i ? ",?" : " VALUES (?");
	nsx_buf_adds(&marks, ")");
	rc = nsx_db_prepare_on(db, "INSERT INTO main.", t->name, marks.p, &insert,
			       err) ?:
	     read_source(db->source, table, insert, err);
	return rc == NSX_E_DATA ? 0 : rc;
}

/* Fills the source tables that statements prepared so far will read. */
static int fill_wanted_tables(struct nsx_db *db, struct nsx_err *err)
{
	size_t n = db->source && !db->is_filling ? db->source->ntables : 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++) {
		if (db->fill[i] != WANTED)
			continue;
		db->is_filling = true;
		rc = nsx_db_exec(db, "SAVEPOINT filling", err) ?:
		     copy_rows(db, i, err) ?:
		     nsx_db_exec(db, "RELEASE filling", err);
		db->is_filling = false;
		db->fill[i] = FILLED;
	}
	return rc;
}

int nsx_db_fill(struct nsx_db *db, struct nsx_err *err)
{
	if (open_handle_once(db, err))
		return err->rc;
	for (size_t i = 0; i < db->source->ntables; i++)
		if (db->fill[i] == EMPTY)
			db->fill[i] = WANTED;
	return fill_wanted_tables(db, err);
}

/* Runs the statements one by one, so that source tables are filled before each. */
static int exec_each_statement(struct nsx_db *db, const char *sql, struct nsx_err *err)
{
	int rc = 0;

	while (!rc && sql[strspn(sql, " \t\n;")]) {
		sqlite3_stmt *h = NULL;
		int got = sqlite3_prepare_v2(db->handle, sql, -1, &h, &sql);

		rc = got ? 0 : fill_wanted_tables(db, err);
		while (!rc && !got && (got = sqlite3_step(h)) == SQLITE_ROW)
			got = 0;
		if (!rc && got != SQLITE_DONE)
			rc = fail_statement(err, db->handle, "cannot run", sql);
		sqlite3_finalize(h);
	}
	return rc;
}

int nsx_db_exec(struct nsx_db *db, const char *sql, struct nsx_err *err)
{
	if (open_handle_once(db, err))
		return err->rc;
	if (db->source)
		return exec_each_statement(db, sql, err);
	if (sqlite3_exec(db->handle, sql, NULL, NULL, NULL))
		return fail_statement(err, db->handle, "cannot run", sql);
	return 0;
}

int nsx_db_prepare(struct nsx_db *db, const char *sql, struct nsx_stmt **ret, struct nsx_err *err)
{
	sqlite3_stmt *h;
	const char *rest;

	if (open_handle_once(db, err))
		return err->rc;
	if (sqlite3_prepare_v2(db->handle, sql, -1, &h, &rest)) {
		fail_statement(err, db->handle, "cannot prepare", sql);
		/* Wrong names get an error code of their own only in the user's own SQL. */
		if (err->rc == NSX_E_DB && db->guard.may_read)
			err->rc = rc_of_message(sqlite3_errmsg(db->handle));
		return err->rc;
	}
	if (!h || rest[strspn(rest, " \t\n;")]) {
		sqlite3_finalize(h);
		return nsx_fail(err, NSX_E_DB, "cannot prepare '%s': not one statement", sql);
	}
	*ret = (struct nsx_stmt *)h;
	if (fill_wanted_tables(db, err))
		nsx_stmt_done(ret);
	return *ret ? 0 : err->rc;
}

int nsx_db_prepare_on(struct nsx_db *db, const char *head, const char *name,
		      const char *tail, struct nsx_stmt **ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf sql = {0};

	nsx_buf_adds(&sql, head);
	nsx_sql_name(&sql, name);
	nsx_buf_adds(&sql, tail);
	return nsx_db_prepare(db, sql.p, ret, err);
}

/* Guard --------------------------------------------------------------------*/

/* Whether a function only computes a value from its arguments. */
static bool is_harmless(const char *function)
{
	static const char *const list[] = {
		"abs", "avg", "ceil", "ceiling", "char", "coalesce", "count", "cume_dist",
		"dense_rank", "exp", "first_value", "floor", "glob", "group_concat", "hex",
		"ifnull", "iif", "instr", "lag", "last_value", "lead", "length", "like", "ln",
		"log", "log10", "log2", "lower", "ltrim", "max", "min", "mod", "nth_value", "ntile",
		"nullif", "percent_rank", "pow", "power", "quote", "rank", "replace", "round",
		"row_number", "rtrim", "sign", "sqrt", "substr", "substring", "sum", "total",
		"trim", "trunc", "typeof", "unicode", "upper",
	};

	return NSX_ANY(i, ARRAY_LEN(list), !strcasecmp(list[i], function));
}

static void mark_table_wanted(struct nsx_db *db, const char *name)
{
	for (size_t i = 0; i < db->source->ntables; i++)
		if (!strcasecmp(db->source->tables[i].name, name) && db->fill[i] == EMPTY)
			db->fill[i] = WANTED;
}

static int authorise_sql_action(void *arg, int action, const char *table, const char *what,
				const char *schema, const char *view NSX_UNUSED)
{
	struct nsx_db *db = arg;
	const struct guard *g = &db->guard;
	bool may = !g->may_read || db->is_filling || action == SQLITE_SELECT ||
		   action == SQLITE_RECURSIVE ||
		   (action == SQLITE_FUNCTION && is_harmless(what)) ||
		   (action == SQLITE_READ && g->may_read(g->ctx, table, what));

	if (may && db->source && action == SQLITE_READ && schema && !strcmp(schema, "main"))
		mark_table_wanted(db, table);
	return may ? SQLITE_OK : SQLITE_DENY;
}

void nsx_db_guard(struct nsx_db *db, bool (*may_read)(void *ctx, const char *table,
						      const char *column),
		  void *ctx, int64_t max_bytes)
{
	db->guard = (struct guard){may_read, ctx};
	sqlite3_set_authorizer(db->handle, authorise_sql_action, db);
	sqlite3_hard_heap_limit64(sqlite3_memory_used() + max_bytes);
}

void nsx_stmt_done(struct nsx_stmt **s)
{
	sqlite3_finalize(handle_of(*s));
	*s = NULL;
}

int nsx_step(struct nsx_stmt *s, struct nsx_err *err)
{
	switch (sqlite3_step(handle_of(s))) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return 0;
	default:
		return fail_statement(err, sqlite3_db_handle(handle_of(s)), "cannot read",
				      sqlite3_sql(handle_of(s)));
	}
}

static int bind_value(struct nsx_stmt *s, int i, const struct nsx_val *v)
{
	switch (v->type) {
	case NSX_V_I64:
		return sqlite3_bind_int64(handle_of(s), i, v->u.i);
	case NSX_V_F64:
		return sqlite3_bind_double(handle_of(s), i, v->u.f);
	case NSX_V_TEXT:
		return sqlite3_bind_text64(handle_of(s), i, v->u.p, v->len,
					   SQLITE_STATIC, SQLITE_UTF8);
	case NSX_V_BLOB:
		return sqlite3_bind_blob64(handle_of(s), i, v->u.p, v->len, SQLITE_STATIC);
	default:
		return sqlite3_bind_null(handle_of(s), i);
	}
}

int nsx_run_with(struct nsx_stmt *s, const struct nsx_val *v, int n, struct nsx_err *err)
{
	int rc = 0;

	for (int i = 0; i < n && !rc; i++)
		rc = bind_value(s, i + 1, &v[i]);
	if (rc || sqlite3_step(handle_of(s)) != SQLITE_DONE)
		rc = fail_statement(err, sqlite3_db_handle(handle_of(s)), "cannot run",
				    sqlite3_sql(handle_of(s)));
	sqlite3_reset(handle_of(s));
	sqlite3_clear_bindings(handle_of(s));
	return rc;
}

int nsx_stmt_columns(struct nsx_stmt *s)
{
	return sqlite3_column_count(handle_of(s));
}

const char *nsx_stmt_column_name(struct nsx_stmt *s, int col)
{
	return sqlite3_column_name(handle_of(s), col);
}

void nsx_read_val(struct nsx_stmt *s, int col, struct nsx_val *ret)
{
	switch (sqlite3_column_type(handle_of(s), col)) {
	case SQLITE_INTEGER:
		ret->type = NSX_V_I64;
		ret->u.i = sqlite3_column_int64(handle_of(s), col);
		break;
	case SQLITE_FLOAT:
		ret->type = NSX_V_F64;
		ret->u.f = sqlite3_column_double(handle_of(s), col);
		break;
	case SQLITE_TEXT:
		ret->type = NSX_V_TEXT;
		ret->u.p = (const char *)sqlite3_column_text(handle_of(s), col);
		ret->len = (uint32_t)sqlite3_column_bytes(handle_of(s), col);
		break;
	case SQLITE_BLOB:
		ret->type = NSX_V_BLOB;
		ret->u.p = sqlite3_column_blob(handle_of(s), col);
		ret->len = (uint32_t)sqlite3_column_bytes(handle_of(s), col);
		break;
	default:
		ret->type = NSX_V_NULL;
	}
}

int nsx_db_number(struct nsx_db *db, const char *sql, int64_t absent,
		  int64_t *ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_stmt_done) struct nsx_stmt *s = NULL;
	struct nsx_val v = {.type = NSX_V_NULL};
	int rc = nsx_db_prepare(db, sql, &s, err) ?: nsx_step(s, err);

	if (rc < 0)
		return rc;
	if (rc)
		nsx_read_val(s, 0, &v);
	*ret = v.type == NSX_V_I64 ? v.u.i : absent;
	return 0;
}
