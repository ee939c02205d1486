/* rows.c - from fields of messages to rows, as tables.def says. */
#include <assert.h>
#include <string.h>
#include "nsysrep/rows.h"

enum from { BODY, BODY0, PART, PART0, DEEP, TEXT, TEXT0, CODE, END };

struct nsx_rep_column {
	const char *name;
	enum from from;
	unsigned field;
};

/* All columns of all tables; a table ends with END. */
static const struct nsx_rep_column columns[] = {
#define REP_TABLE(id, table) {"", END, 0}, {table, END, NSX_REP_##id},
#define REP_COL(column, from, field) {column, from, field},
#include "nsysrep/tables.def"
#undef REP_TABLE
#undef REP_COL
	{"", END, 0},
};

enum { MOST_COLUMNS = 48 };

/* The entry with the table's name; its columns follow. */
static const struct nsx_rep_column *find(enum nsx_rep_table t)
{
	const struct nsx_rep_column *c = columns;

	while (c->from != END || !*c->name || c->field != t)
		c++;
	return c;
}

static int make_table(struct nsx_rep_rows *r, enum nsx_rep_table t,
		      struct nsx_err *err)
{
	const struct nsx_rep_column *table = find(t);
	int n = 0;
	struct nsx_buf sql = {0}, marks = {0};
	int rc;

	nsx_buf_printf(&sql, "CREATE TABLE %s (", table->name);
	for (const struct nsx_rep_column *c = table + 1; c->from != END; c++) {
		const char *type = strchr(c->name, ' ');

		nsx_buf_printf(&sql, "%s%.*s %s", c == table + 1 ? "" : ", ",
			       (int)strcspn(c->name, " "), c->name,
			       type ? type + 1 : "INTEGER");
		nsx_buf_adds(&marks, c == table + 1 ? "?" : ",?");
		n++;
	}
	assert(n <= MOST_COLUMNS);
	r->first[t] = table + 1;
	r->ncolumns[t] = n;
	nsx_buf_adds(&sql, ")");
	rc = nsx_db_exec(r->db, sql.p, err);
	nsx_buf_clear(&sql);
	nsx_buf_printf(&sql, "INSERT INTO %s VALUES (%s)", table->name, marks.p);
	if (!rc)
		rc = nsx_db_prepare(r->db, sql.p, &r->insert[t], err);
	nsx_buf_done(&sql);
	nsx_buf_done(&marks);
	return rc;
}

void nsx_rows_done(struct nsx_rep_rows *r)
{
	for (unsigned t = 0; t < NSX_REP_NTABLES; t++)
		nsx_stmt_done(&r->insert[t]);
}

int nsx_rows_put(struct nsx_rep_rows *r, enum nsx_rep_table t,
		 const struct nsx_val *v, struct nsx_err *err)
{
	if (!r->insert[t] && make_table(r, t, err))
		return err->rc;
	r->n[t]++;
	return nsx_run_with(r->insert[t], v, r->ncolumns[t], err);
}

static struct nsx_val value(const struct nsx_rep_column *c, const struct nsx_row_of *of)
{
	const struct nsx_msg *m = c->from == DEEP ? of->deep :
				  c->from == PART || c->from == PART0 ?
						    of->part : of->body;

	if (c->from == CODE)
		return of->code[c->field];
	if (c->from == TEXT0 || (c->from == TEXT && nsx_msg_has(m, c->field)))
		return nsx_val_bytes(nsx_msg_bytes(m, c->field));
	if (c->from == BODY0 || c->from == PART0)
		return nsx_val_int(nsx_msg_int(m, c->field));
	return c->from == TEXT ? nsx_val_none() : nsx_val_field(m, c->field);
}

int nsx_rows_add(struct nsx_rep_rows *r, enum nsx_rep_table t,
		 const struct nsx_row_of *from, struct nsx_err *err)
{
	struct nsx_val v[MOST_COLUMNS];

	if (!r->insert[t] && make_table(r, t, err))
		return err->rc;
	for (int i = 0; i < r->ncolumns[t]; i++)
		v[i] = value(&r->first[t][i], from);
	return nsx_rows_put(r, t, v, err);
}
