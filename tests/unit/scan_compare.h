/* scan_compare.h - makes databases, reads their tables through both backends of scan.h, and
 * compares the cells.
 */
#ifndef SCAN_COMPARE_H
#define SCAN_COMPARE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/par.h"
#include "sqlite/scan.h"
#include "../testlib.h"

/* The result of one scan: its rows as text, in order. */
struct outcome {
	struct nsx_buf text[NSX_MAX_THREADS]; /* by part */
	size_t rows[NSX_MAX_THREADS];
	size_t bound[NSX_MAX_THREADS]; /* number of rows according to nsx_scan_rows */
	unsigned nparts, ncolumns;
	struct nsx_scan *scan;
	bool is_page;
	int rc;
	struct nsx_err err;
};

struct row_ctx {
	struct outcome *o;
	size_t part;
};

NSX_UNUSED static int note_row(void *arg, int64_t rid, const struct nsx_val *v, struct nsx_err *err)
{
	struct row_ctx *ctx = arg;
	struct nsx_buf *b = &ctx->o->text[ctx->part];

	(void)err;
	ctx->o->rows[ctx->part]++;
	nsx_buf_add(b, (const char *)&rid, sizeof(rid));
	for (unsigned i = 0; i < ctx->o->ncolumns; i++) {
		uint8_t type = (uint8_t)v[i].type;

		nsx_buf_add(b, (const char *)&type, 1);
		if (type == NSX_V_I64 || type == NSX_V_F64) {
			nsx_buf_add(b, (const char *)&v[i].u, sizeof(v[i].u));
		} else if (type != NSX_V_NULL) {
			nsx_buf_add(b, (const char *)&v[i].len, sizeof(v[i].len));
			if (v[i].len)
				nsx_buf_add(b, v[i].u.p, v[i].len);
		}
	}
	return 0;
}

NSX_UNUSED static int read_part(void *arg, size_t part, struct nsx_err *err)
{
	struct outcome *o = arg;
	struct row_ctx ctx = {o, part};

	return nsx_scan_run(o->scan, (unsigned)part, NULL, note_row, &ctx, err);
}

/* Reads `columns` of t in parts, each on a thread of its own. */
NSX_UNUSED static void read_columns_of(struct nsx_db *db, const struct nsx_table_info *t,
				       const char *const *columns, unsigned n,
				       unsigned nparts, struct outcome *o)
{
	*o = (struct outcome){.ncolumns = n};
	o->rc = nsx_scan_open(db, t, columns, n, nparts, &o->scan, &o->err);
	if (o->rc)
		return;
	o->is_page = !strcmp(nsx_scan_backend(o->scan), "page");
	o->nparts = nsx_scan_parts(o->scan);
	for (unsigned i = 0; i < o->nparts; i++)
		o->bound[i] = nsx_scan_rows(o->scan, i);
	o->rc = nsx_par(nparts, o->nparts, read_part, o, &o->err);
	nsx_scan_close(o->scan);
	for (unsigned i = 0; i < o->nparts; i++)
		assert_true(o->rows[i] <= o->bound[i]);
}

NSX_UNUSED static void read_table(struct nsx_db *db, const struct nsx_table_info *t,
				  unsigned nparts, struct outcome *o)
{
	const char *columns[NSX_MAX_COLUMNS];

	for (unsigned i = 0; i < t->ncolumns; i++)
		columns[i] = t->columns[i].name;
	read_columns_of(db, t, columns, t->ncolumns, nparts, o);
}

NSX_UNUSED static void outcome_done(struct outcome *o)
{
	for (unsigned i = 0; i < o->nparts; i++)
		nsx_buf_done(&o->text[i]);
}

/* The rows of all parts, one after the other. */
NSX_UNUSED static struct nsx_buf joined(const struct outcome *o)
{
	struct nsx_buf all = {0};

	for (unsigned i = 0; i < o->nparts; i++)
		if (o->text[i].n)
			nsx_buf_add(&all, o->text[i].p, o->text[i].n);
	return all;
}

/* Whether both scans gave the same cells in the same order. */
NSX_UNUSED static bool same_rows(const struct outcome *a, const struct outcome *b)
{
	struct nsx_buf x = joined(a), y = joined(b);
	bool same = x.n == y.n && (!x.n || !memcmp(x.p, y.p, x.n));

	nsx_buf_done(&x);
	nsx_buf_done(&y);
	return same;
}

NSX_UNUSED static struct nsx_db *open_or_fail(const char *path, bool sqlite)
{
	struct nsx_err err = {0};
	struct nsx_db *db = NULL;

	if (nsx_db_open(path, &db, &err))
		fail_msg("%s", err.msg);
	if (sqlite)
		nsx_db_force_sqlite(db);
	return db;
}

/* Compares every table of a valid file; returns the number of tables that the page backend read. */
NSX_UNUSED static unsigned compare_file(const char *path, unsigned nparts)
{
	struct nsx_db *sql = open_or_fail(path, true);
	struct nsx_db *page = open_or_fail(path, false);
	unsigned taken = 0;
	size_t n;

	nsx_db_tables(sql, &n);
	for (size_t i = 0; i < n; i++) {
		const struct nsx_table_info *t = nsx_db_tables(sql, &n) + i;
		struct outcome a, b;

		if (!nsx_is_readable(t))
			continue;
		read_table(sql, t, 1, &a);
		read_table(page, t, nparts, &b);
		if (a.rc || b.rc || a.is_page || !same_rows(&a, &b))
			fail_msg("%s, table %s, %u parts: %s %s", path, t->name,
				 nparts, a.rc ? a.err.msg : "", b.rc ? b.err.msg : "cells differ");
		for (unsigned k = 0; k < b.nparts; k++)
			assert_int_equal(b.rows[k], b.bound[k]);
		taken += b.is_page;
		outcome_done(&a);
		outcome_done(&b);
	}
	nsx_db_close(sql);
	nsx_db_close(page);
	return taken;
}

/* Databases -------------------------------------------------------------*/
static char scratch_dir[256];

static void remove_scratch(void)
{
	DIR *d = opendir(scratch_dir);

	for (struct dirent *e; d && (e = readdir(d));)
		unlinkat(dirfd(d), e->d_name, 0); /* "." and ".." stay */
	closedir(d);
	rmdir(scratch_dir);
}

NSX_UNUSED static char *scratch(const char *name)
{
	static char path[512];

	if (!*scratch_dir) {
		const char *tmp = getenv("TMPDIR");

		snprintf(scratch_dir, sizeof(scratch_dir),
			 "%s/test_page.XXXXXX", tmp ? tmp : "/tmp");
		assert_non_null(mkdtemp(scratch_dir));
		atexit(remove_scratch);
	}
	snprintf(path, sizeof(path), "%s/%s", scratch_dir, name);
	return path;
}

NSX_UNUSED static void make_db(const char *path, const char *sql)
{
	char *why = NULL;
	sqlite3 *h;

	unlink(path);
	assert_int_equal(sqlite3_open(path, &h), SQLITE_OK);
	sqlite3_exec(h, "PRAGMA synchronous=OFF", NULL, NULL, NULL);
	if (sqlite3_exec(h, sql, NULL, NULL, &why))
		fail_msg("%s", why);
	assert_int_equal(sqlite3_close(h), SQLITE_OK);
}

/* Calls a function for every real trace. If there are none, the test is skipped. */
NSX_UNUSED static void each_trace(void (*fn)(const char *path, void *ctx), void *ctx)
{
	const char *dir = getenv("NSX_TRACES");
	struct dirent *e;
	DIR *d;

	dir = dir ? dir : "../shared/traces";
	d = opendir(dir);
	if (!d) {
		print_message("skipped: no traces in %s\n", dir);
		skip();
	}
	while ((e = readdir(d))) {
		size_t n = strlen(e->d_name);
		char path[1024];

		if (n < 7 || strcmp(e->d_name + n - 7, ".sqlite"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		fn(path, ctx);
	}
	closedir(d);
}

#endif
