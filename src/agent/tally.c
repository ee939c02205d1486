/* tally.c - sums by name, as a table. */
#include <stdlib.h>
#include "agent/ask.h"
#include "base/group.h"

#define COLUMNS(X)                                                            \
	X(KIND, "kind", STR, "what it is")                                    \
	X(NAME, "name", STR, "its name")                                      \
	X(COUNT, "count", I64, "how often")                                   \
	X(TOTAL, "total_ns", I64, "time in all, inside what was asked for")   \
	X(MEAN, "mean_ns", F64, "total / count")                              \
	X(SHARE, "pct_of_window", F64, "total of the window's length")
NSX_COLUMNS(cols, COLUMNS);
const struct nsx_layout nsx_sums_layout = {NSX_COLS(cols)};

struct tally_row {
	const char *kind, *name;
	struct nsx_count count;
};
struct nsx_tally {
	struct nsx_answer *a;
	struct nsx_groups groups;
	struct tally_row *rows;
	size_t n, cap;
};

struct nsx_tally *nsx_tally_new(struct nsx_answer *a)
{
	struct nsx_tally *t = nsx_arena_get(a->out->arena, sizeof(*t));

	t->a = a;
	return t;
}

void nsx_tally_free(struct nsx_tally *t)
{
	nsx_groups_done(&t->groups);
	free(t->rows);
	t->rows = NULL;
}

int nsx_tally_add(struct nsx_tally *t, uint64_t a, uint64_t b,
		  const char *kind, const char *text,
		  const struct nsx_count *count, struct nsx_err *err)
{
	uint32_t i;

	if (!count->n)
		return 0;
	if (nsx_group(&t->groups, a, b, &i, err))
		return err->rc;
	if (i == t->n) {
		if (nsx_grow(&t->rows, &t->cap, t->n + 1, sizeof(*t->rows),
			     "sums", err))
			return err->rc;
		t->rows[t->n++] = (struct tally_row){.kind = kind, .name = text};
	}
	t->rows[i].count.n += count->n;
	t->rows[i].count.ns += count->ns;
	return 0;
}

int nsx_tally_op(struct nsx_tally *t, uint64_t of, size_t op,
		 const char *kind, const struct nsx_count *count,
		 struct nsx_err *err)
{
	const struct nsx_trace *trace = t->a->r->trace;
	const struct nsx_ops *o = &trace->ops;
	uint64_t name = o->kind[op] == NSX_OP_MEMCPY ?
				trace->copy[o->detail[op]].copy_kind :
				nsx_op_name(trace, op);

	return nsx_tally_add(t, of << 2 | o->kind[op], name, kind,
			     nsx_answer_op(t->a, op), count, err);
}

int nsx_tally_end(struct nsx_tally *t, const char *key, int64_t whole_ns,
		  struct nsx_err *err)
{
	struct nsx_layout *layout = nsx_arena_get(t->a->out->arena,
						  sizeof(*layout));
	struct nsx_table *table;
	int rc = 0;

	*layout = nsx_sums_layout;
	layout->key = key;
	layout->json_rows = (int)NSX_MIN(t->a->limit, 10000u);
	table = nsx_add_table(t->a->out, layout);
	for (size_t i = 0; i < t->n && !rc; i++) {
		const struct tally_row *r = &t->rows[i];
		struct nsx_cell *row = nsx_row(table, err);

		if (!row) {
			rc = err->rc;
			break;
		}
		row[KIND] = nsx_string(r->kind);
		row[NAME] = nsx_string(r->name);
		row[COUNT] = nsx_int(r->count.n);
		row[TOTAL] = nsx_int(r->count.ns);
		row[MEAN] = nsx_real((double)r->count.ns / (double)r->count.n);
		row[SHARE] = nsx_pct((double)r->count.ns, (double)whole_ns);
	}
	nsx_table_sort(table, NSX_DESC(TOTAL), NSX_DESC(COUNT), KIND, NAME);
	if (!rc && table->nrows)
		nsx_answer_show(t->a, table);
	nsx_tally_free(t);
	return rc;
}
