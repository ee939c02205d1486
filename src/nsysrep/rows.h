/* rows.h - the tables of tables.def, and rows that do not come from events, such as devices. */
#pragma once

#include "base/arena.h"
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

enum { NSX_REP_MOST_COLUMNS = 48 };
struct nsx_rep_column {
	const char *name; /* followed by a space and the type unless that is INTEGER */
	enum nsx_rep_from { BODY, BODY0, PART, PART0, DEEP, TEXT, TEXT0, CODE, END } from;
	unsigned field; /* number of the field, or index of the value if from is CODE */
};
struct nsx_rep_def {
	const char *name;
	const struct nsx_rep_column *columns;
	unsigned ncolumns;
	const struct nsx_rep_column *instant; /* start time of a row; NULL: rows have no time */
};
void nsx_rep_define(struct nsx_rep_def ret[NSX_REP_NTABLES]);

/* The sources of a row's values (enum nsx_rep_from); NULL if the table does not use them. */
struct nsx_row_of {
	const struct nsx_msg *body, *part, *deep;
	const struct nsx_val *code;
};

/* Rows of tables that have few, kept in memory. The user sets arena and defs. Owner: the caller,
 * nsx_rows_done.
 */
struct nsx_rep_rows {
	struct nsx_arena *arena; /* owner of texts                           */
	const struct nsx_rep_def *defs;
	bool is_garbled; /* rows are missing, because messages are damaged    */
	struct nsx_rep_list {
		struct nsx_val *v; /* the values of all rows, one row after the other */
		size_t n, cap;	   /* counted in values, not in rows         */
	} of[NSX_REP_NTABLES];
};
void nsx_rows_add(struct nsx_rep_rows *r, enum nsx_rep_table t, const struct nsx_row_of *from);
/* Adds a row given as values. */
void nsx_rows_put(struct nsx_rep_rows *r, enum nsx_rep_table t, const struct nsx_val *v);
void nsx_rows_done(struct nsx_rep_rows *r);

/* Values: NULL; text; a field's number, or NULL if the field is absent. */
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
	return nsx_msg_has(m, f) ? nsx_val_int(nsx_msg_int(m, f)) : nsx_val_none();
}
/* The value of a column in the row with these sources. */
static inline struct nsx_val nsx_rep_value(const struct nsx_rep_column *c,
			     const struct nsx_row_of *of)
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
