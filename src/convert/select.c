/* select.c - rows of a table in the order of a query. */
#include "convert/convert.h"

/* Maps d's fields to the view by their offset from its first field. */
void nsx_conv_select(const struct nsx_schema *s, enum nsx_view view,
		     const char *rid, const struct nsx_activity_def *d, struct nsx_buf *b)
{
	nsx_buf_printf(b, "SELECT %s AS rid", rid);
	for (unsigned i = 0; i < d->nfields; i++) {
		enum nsx_field f = nsx_view_defs[view].first + d->fields[i] -
				   nsx_view_defs[d->view].first;

		nsx_buf_adds(b, ", ");
		if (s->column[f])
			nsx_sql_name(b, s->column[f]);
		else
			nsx_buf_adds(b, "NULL");
		nsx_buf_printf(b, " AS %s", nsx_field_defs[f].name);
	}
	nsx_buf_adds(b, " FROM main.");
	nsx_sql_name(b, s->table[view]->name);
}

int nsx_conv_sorted(struct nsx_conv *c, struct nsx_buf *sql, unsigned ncolumns,
		    nsx_row_fn row, void *ctx, struct nsx_err *err)
{
	struct nsx_stmt *st = NULL;
	struct nsx_val v[NSX_MAX_COLUMNS];
	struct nsx_db *db = nsx_db_clone(c->schema->db);
	int rc = nsx_db_exec(db, "PRAGMA temp_store=FILE;PRAGMA cache_size=-16384", err) ?:
		 nsx_db_prepare(db, sql->p, &st, err);

	nsx_buf_done(sql);
	while (!rc && (rc = nsx_step(st, err)) == 1) {
		for (unsigned i = 0; i <= ncolumns; i++)
			nsx_read_val(st, (int)i, &v[i]);
		rc = row(ctx, nsx_i64_or(&v[0], 0), v + 1, err);
	}
	nsx_stmt_done(&st);
	nsx_db_close(db);
	return rc;
}
