/* scan_sqlite.c - a part is a range of row ids, read on its own connection. */
#include <stdlib.h>
#include <string.h>
#include "scan_sqlite.h"

/* Below this many rows a second connection costs more than it saves. */
#define ROWS_WORTH_A_PART 20000

struct part {
	int64_t first, last; /* row ids, both included */
	size_t rows;
};

struct nsx_sqlscan {
	struct nsx_db *db;
	char *select; /* without the range */
	bool has_rowid;
	unsigned ncolumns, nparts;
	struct part parts[NSX_MAX_THREADS];
};

static char *make_select(const struct nsx_table_info *t,
			 const char *const *columns, unsigned ncolumns,
			 bool has_rowid)
{
	struct nsx_buf b = {0};

	nsx_buf_adds(&b, has_rowid ? "SELECT rowid" : "SELECT 0");
	for (unsigned i = 0; i < ncolumns; i++) {
		nsx_buf_adds(&b, ", ");
		if (columns[i])
			nsx_sql_name(&b, columns[i]);
		else
			nsx_buf_adds(&b, "NULL");
	}
	nsx_buf_adds(&b, " FROM main.");
	nsx_sql_name(&b, t->name);
	return b.p; /* becomes the scan's */
}

static int query_one_row(struct nsx_db *db, const char *sql, int64_t *ret,
			 int n, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_stmt_done) struct nsx_stmt *s = NULL;
	struct nsx_val v;
	int rc = nsx_db_prepare(db, sql, &s, err);

	if (!rc)
		rc = nsx_step(s, err);
	if (rc < 0)
		return rc;
	for (int i = 0; i < n; i++) {
		nsx_read_val(s, i, &v);
		ret[i] = v.type == NSX_V_I64 ? v.u.i : 0;
	}
	return 0;
}

/* count(*), and with a row id also its least and greatest value. */
static int measure(struct nsx_sqlscan *s, const char *table, int64_t *ret,
		   struct nsx_err *err)
{
	struct nsx_buf b = {0};
	int rc;

	nsx_buf_adds(&b, s->has_rowid ?
				 "SELECT count(*), min(rowid), max(rowid)" :
				 "SELECT count(*), 0, 0");
	nsx_buf_adds(&b, " FROM main.");
	nsx_sql_name(&b, table);
	rc = query_one_row(s->db, b.p, ret, 3, err);
	nsx_buf_done(&b);
	return rc;
}

static int count_part(struct nsx_sqlscan *s, const char *table,
		      struct part *p, struct nsx_err *err)
{
	struct nsx_buf b = {0};
	int64_t n;
	int rc;

	nsx_buf_adds(&b, "SELECT count(*) FROM main.");
	nsx_sql_name(&b, table);
	nsx_buf_printf(&b, " WHERE rowid BETWEEN %lld AND %lld",
		       (long long)p->first, (long long)p->last);
	rc = query_one_row(s->db, b.p, &n, 1, err);
	nsx_buf_done(&b);
	p->rows = (size_t)n;
	return rc;
}

static int plan(struct nsx_sqlscan *s, const char *table, unsigned nparts,
		struct nsx_err *err)
{
	int64_t m[3], step;
	int rc = measure(s, table, m, err);

	if (rc)
		return rc;
	s->nparts = 1;
	s->parts[0] = (struct part){m[1], m[2], (size_t)m[0]};
	nparts = (unsigned)NSX_MIN(nparts, m[0] / ROWS_WORTH_A_PART);
	nparts = NSX_MIN(nparts, NSX_MAX_THREADS);
	if (!s->has_rowid || nparts < 2 || m[2] - m[1] < 0)
		return 0;
	step = (m[2] - m[1]) / nparts;
	for (unsigned i = 0; !rc && i < nparts; i++) {
		struct part *p = &s->parts[i];

		p->first = m[1] + i * step + (i > 0);
		p->last = i + 1 == nparts ? m[2] : m[1] + (i + 1) * step;
		rc = count_part(s, table, p, err);
	}
	s->nparts = nparts;
	return rc;
}

int nsx_sqlscan_open(struct nsx_db *db, const struct nsx_table_info *t,
		     const char *const *columns, unsigned ncolumns,
		     unsigned nparts, struct nsx_sqlscan **ret,
		     struct nsx_err *err)
{
	struct nsx_sqlscan *s = nsx_try_alloc(1, sizeof(*s), "a scan", err);
	int rc;

	if (!s)
		return err->rc;
	s->db = db;
	s->ncolumns = ncolumns;
	s->has_rowid = t->is_plain && strcmp(t->what, "table without rowid");
	s->select = make_select(t, columns, ncolumns, s->has_rowid);
	rc = plan(s, t->name, nparts, err);
	if (rc) {
		nsx_sqlscan_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void nsx_sqlscan_close(struct nsx_sqlscan *s)
{
	if (!s)
		return;
	free(s->select);
	free(s);
}

unsigned nsx_sqlscan_parts(const struct nsx_sqlscan *s)
{
	return s->nparts;
}

size_t nsx_sqlscan_rows(const struct nsx_sqlscan *s, unsigned part)
{
	return s->parts[part].rows;
}

static int read_rows(struct nsx_sqlscan *s, struct nsx_stmt *stmt,
		     nsx_row_fn fn, void *ctx, struct nsx_err *err)
{
	struct nsx_val v[NSX_MAX_COLUMNS];
	int rc;

	while ((rc = nsx_step(stmt, err)) == 1) {
		for (unsigned i = 0; i <= s->ncolumns; i++)
			nsx_read_val(stmt, (int)i, &v[i]);
		rc = fn(ctx, v[0].u.i, v + 1, err);
		if (rc)
			return rc;
	}
	return rc;
}

int nsx_sqlscan_run(struct nsx_sqlscan *s, unsigned part, nsx_row_fn fn,
		    void *ctx, struct nsx_err *err)
{
	const struct part *p = &s->parts[part];
	struct nsx_stmt *stmt = NULL;
	struct nsx_db *db = NULL;
	struct nsx_buf b = {0};
	int rc = nsx_db_clone(s->db, &db, err);

	if (rc)
		return rc;
	nsx_buf_adds(&b, s->select);
	if (s->nparts > 1)
		nsx_buf_printf(&b, " WHERE rowid BETWEEN %lld AND %lld",
			       (long long)p->first, (long long)p->last);
	rc = nsx_db_prepare(db, b.p, &stmt, err);
	if (!rc)
		rc = read_rows(s, stmt, fn, ctx, err);
	nsx_stmt_done(&stmt);
	nsx_buf_done(&b);
	nsx_db_close(db);
	return rc;
}
