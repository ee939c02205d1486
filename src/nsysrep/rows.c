/* rows.c - makes rows from message fields, as tables.def describes. */
#include <assert.h>
#include "nsysrep/rows.h"

/* The columns of all tables. A table's first entry holds its name; an empty name ends it. */
static const struct nsx_rep_column columns[] = {
#define REP_TABLE(id, table) {"", END, 0}, {table, END, NSX_REP_##id},
#define REP_COL(column, from, field) {column, from, field},
#include "nsysrep/tables.def"
#undef REP_TABLE
#undef REP_COL
	{"", END, 0},
};

void nsx_rep_define(struct nsx_rep_def ret[NSX_REP_NTABLES])
{
	struct nsx_rep_def *def = NULL;

	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		const struct nsx_rep_column *c = &columns[i];

		if (c->from == END && *c->name) {
			def = &ret[c->field];
			*def = (struct nsx_rep_def){c->name, c + 1, 0, NULL};
		} else if (c->from != END) {
			if (!strcmp(c->name, "start") || !strcmp(c->name, "timestamp"))
				def->instant = c;
			def->ncolumns++;
			assert(def->ncolumns <= NSX_REP_MOST_COLUMNS);
		}
	}
}

void nsx_rows_put(struct nsx_rep_rows *r, enum nsx_rep_table t, const struct nsx_val *v)
{
	struct nsx_rep_list *to = &r->of[t];
	unsigned n = r->defs[t].ncolumns;

	nsx_grow_or_die(&to->v, &to->cap, to->n + n, sizeof(*to->v));
	for (unsigned i = 0; i < n; i++) {
		struct nsx_val *x = &to->v[to->n++];

		*x = v[i];
		if (x->type == NSX_V_TEXT && x->len)
			x->u.p = nsx_arena_strndup(r->arena, x->u.p, x->len);
	}
}

void nsx_rows_add(struct nsx_rep_rows *r, enum nsx_rep_table t, const struct nsx_row_of *from)
{
	struct nsx_val v[NSX_REP_MOST_COLUMNS];

	for (unsigned i = 0; i < r->defs[t].ncolumns; i++)
		v[i] = nsx_rep_value(&r->defs[t].columns[i], from);
	nsx_rows_put(r, t, v);
}

void nsx_rows_done(struct nsx_rep_rows *r)
{
	for (unsigned t = 0; t < NSX_REP_NTABLES; t++)
		free(r->of[t].v);
}
