/* rows.h - rows of the tables of tables.def, put into a database. */
#ifndef NSX_ROWS_H
#define NSX_ROWS_H

#include "nsysrep/wire.h"
#include "sqlite/db.h"

enum nsx_rep_table {
#define REP_TABLE(id, table) NSX_REP_##id,
#define REP_COL(column, from, field)
#include "nsysrep/tables.def"
#undef REP_TABLE
#undef REP_COL
	NSX_REP_NTABLES
};

struct nsx_rep_rows {
	struct nsx_db *db;
	struct nsx_stmt *insert[NSX_REP_NTABLES]; /* made with the first row  */
	const struct nsx_rep_column *first[NSX_REP_NTABLES]; /* of its columns, likewise */
	int ncolumns[NSX_REP_NTABLES];
	uint64_t n[NSX_REP_NTABLES];
};

void nsx_rows_done(struct nsx_rep_rows *r);

/* What a row is made of; the parts that its table does not name may be NULL. */
struct nsx_row_of {
	const struct nsx_msg *body, *part, *deep;
	const struct nsx_val *code;
};
int nsx_rows_add(struct nsx_rep_rows *r, enum nsx_rep_table t,
		 const struct nsx_row_of *from, struct nsx_err *err) NSX_CHECKED;
/* A row of values alone. */
int nsx_rows_put(struct nsx_rep_rows *r, enum nsx_rep_table t,
		 const struct nsx_val *v, struct nsx_err *err) NSX_CHECKED;

static inline struct nsx_val nsx_val_none(void)
{
	return (struct nsx_val){NSX_V_NULL, 0, {0}};
}
static inline struct nsx_val nsx_val_bytes(struct nsx_piece b)
{
	return (struct nsx_val){NSX_V_TEXT, (uint32_t)NSX_MIN(b.n, UINT32_MAX),
				{.p = (const char *)b.p}};
}
static inline struct nsx_val nsx_val_field(const struct nsx_msg *m, unsigned f)
{
	return nsx_msg_has(m, f) ? nsx_val_int(nsx_msg_int(m, f)) :
				   nsx_val_none();
}

#endif
