/* scan_sqlite.c - each part is a range of row ids, read on its own connection. */
#include "sqlite/scan_backends.h"

/* With fewer rows, a second connection costs more time than it saves. */
#define ROWS_WORTH_A_PART 20000

struct part {
	int64_t first, last; /* row ids, both included */
	size_t rows;
};

struct nsx_sqlscan {
	struct nsx_scan scan;
	struct nsx_db *db;
	const char *table;
	char *select; /* the SELECT without the range */
	const char *rowid; /* name of the row id in this table, or NULL */
	unsigned ncolumns;
	struct part parts[NSX_MAX_THREADS];
};

/* A name of the row id, or NULL. The row id has three names, and a column may hide each of them. */
static const char *rowid_name(const struct nsx_table_info *t)
{
	static const char *const names[] = {"rowid", "_rowid_", "oid"};

	if (t->kind != NSX_TK_PLAIN)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (nsx_column_find(t, names[i]) < 0)
			return names[i];
	return NULL;
}

static char *make_select(const struct nsx_table_info *t,
			 const char *const *columns, unsigned ncolumns, const char *rowid)
{
	struct nsx_buf b = {0};

	nsx_buf_printf(&b, "SELECT %s", rowid ? rowid : "0");
	for (unsigned i = 0; i < ncolumns; i++) {
		nsx_buf_adds(&b, ", ");
		if (columns[i])
			nsx_sql_name(&b, columns[i]);
		else
			nsx_buf_adds(&b, "NULL");
	}
	/* Rows are to come in the table's order, not in that of an index. */
	nsx_buf_adds(&b, " FROM main.");
	nsx_sql_name(&b, t->name);
	nsx_buf_adds(&b, " NOT INDEXED");
	return b.p; /* the scan frees it */
}

static int query_one_row(struct nsx_db *db, const char *sql, int64_t *ret,
			 int n, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_stmt_done) struct nsx_stmt *s = NULL;
	struct nsx_val v;
	int rc = nsx_db_prepare(db, sql, &s, err) ?: nsx_step(s, err);

	if (rc < 0)
		return rc;
	for (int i = 0; i < n; i++) {
		nsx_read_val(s, i, &v);
		ret[i] = v.type == NSX_V_I64 ? v.u.i : 0;
	}
	return 0;
}

/* Counts the rows, and finds the least and greatest row id if the table has row ids. */
static int scan_sqlite_measure(struct nsx_sqlscan *s, int64_t *ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	if (s->rowid)
		nsx_buf_printf(&b, "SELECT count(*), min(%s), max(%s)", s->rowid, s->rowid);
	else
		nsx_buf_adds(&b, "SELECT count(*), 0, 0");
	nsx_buf_adds(&b, " FROM main.");
	nsx_sql_name(&b, s->table);
	nsx_buf_adds(&b, " NOT INDEXED");
	return query_one_row(s->db, b.p, ret, 3, err);
}

static int scan_sqlite_count_part(struct nsx_sqlscan *s, struct part *p, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	int64_t n = 0;
	int rc;

	nsx_buf_adds(&b, "SELECT count(*) FROM main.");
	nsx_sql_name(&b, s->table);
	nsx_buf_printf(&b, " WHERE %s BETWEEN %lld AND %lld", s->rowid,
		       (long long)p->first, (long long)p->last);
	rc = query_one_row(s->db, b.p, &n, 1, err);
	p->rows = (size_t)n;
	return rc;
}

static int divide_row_ids(struct nsx_sqlscan *s, unsigned nparts, struct nsx_err *err)
{
	int64_t m[3], span, step;
	int rc = scan_sqlite_measure(s, m, err);

	if (rc)
		return rc;
	s->scan.nparts = 1;
	s->parts[0] = (struct part){m[1], m[2], (size_t)m[0]};
	nparts = (unsigned)NSX_MIN(nparts, m[0] / ROWS_WORTH_A_PART);
	nparts = NSX_MIN(nparts, NSX_MAX_THREADS);
	if (!s->rowid || nparts < 2 || __builtin_sub_overflow(m[2], m[1], &span))
		return 0;
	step = span / nparts;
	for (unsigned i = 0; !rc && i < nparts; i++) {
		struct part *p = &s->parts[i];

		p->first = m[1] + i * step + (i > 0);
		p->last = i + 1 == nparts ? m[2] : m[1] + (i + 1) * step;
		rc = scan_sqlite_count_part(s, p, err);
	}
	s->scan.nparts = nparts;
	return rc;
}

static void scan_sqlite_close(struct nsx_scan *scan)
{
	free(((struct nsx_sqlscan *)scan)->select);
	free(scan);
}

static int scan_sqlite_open(struct nsx_db *db, const struct nsx_table_info *t,
			    const char *const *columns, unsigned ncolumns,
			    unsigned nparts, struct nsx_scan **ret, struct nsx_err *err)
{
	struct nsx_sqlscan *s = nsx_try_alloc(1, sizeof(*s), "a scan", err);

	if (!s)
		return err->rc;
	s->db = db;
	s->ncolumns = ncolumns;
	s->table = t->name;
	s->rowid = rowid_name(t);
	s->select = make_select(t, columns, ncolumns, s->rowid);
	if (divide_row_ids(s, nparts, err)) {
		scan_sqlite_close(&s->scan);
		return err->rc;
	}
	*ret = &s->scan;
	return 0;
}

static size_t scan_sqlite_rows(struct nsx_scan *scan, unsigned part)
{
	return ((struct nsx_sqlscan *)scan)->parts[part].rows;
}

/* Reads at most `left` rows, because a damaged table may give more rows than it counts. */
static int scan_sqlite_read_rows(struct nsx_sqlscan *s, struct nsx_stmt *stmt, size_t left,
				 nsx_row_fn fn, void *ctx, struct nsx_err *err)
{
	struct nsx_val v[NSX_MAX_COLUMNS + 1];
	int rc;

	while ((rc = nsx_step(stmt, err)) == 1) {
		if (!left--)
			return nsx_fail(err, NSX_E_DATA, "cannot read table '%s': damaged: it has "
					"more rows than it counts", s->table);
		for (unsigned i = 0; i <= s->ncolumns; i++)
			nsx_read_val(stmt, (int)i, &v[i]);
		rc = fn(ctx, v[0].u.i, v + 1, err);
		if (rc)
			return rc;
	}
	return rc;
}

static int scan_sqlite_run(struct nsx_scan *scan, unsigned part, struct nsx_choice *choice,
			   nsx_row_fn fn, void *ctx, struct nsx_err *err)
{
	struct nsx_sqlscan *s = (struct nsx_sqlscan *)scan;
	const struct part *p = &s->parts[part];
	struct nsx_stmt *stmt = NULL;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	struct nsx_db *db;
	int rc;

	if (choice)
		choice->at = part;
	if (choice && choice->wants && !choice->wants(ctx, part))
		return 0;
	db = nsx_db_clone(s->db);
	nsx_buf_adds(&b, s->select);
	if (s->scan.nparts > 1)
		nsx_buf_printf(&b, " WHERE %s BETWEEN %lld AND %lld", s->rowid,
			       (long long)p->first, (long long)p->last);
	rc = nsx_db_prepare(db, b.p, &stmt, err) ?:
	     scan_sqlite_read_rows(s, stmt, p->rows, fn, ctx, err);
	nsx_stmt_done(&stmt);
	nsx_db_close(db);
	return rc;
}

const struct nsx_scan_backend nsx_sqlite_backend = {
	.name = "sqlite", .open = scan_sqlite_open, .close = scan_sqlite_close,
	.rows = scan_sqlite_rows, .run = scan_sqlite_run};
