/* tally.c - sums by name, as a table. */
#include "agent/ask.h"
#include "base/group.h"

#define COLUMNS(X)                                                            \
	X(KIND, "kind", STR, "what it is")                                    \
	X(NAME, "name", STR, "name of the operation")                         \
	X(COUNT, "count", I64, "how often")                                   \
	X(TOTAL, "total_ns", I64, "total time inside the requested part")     \
	X(MEAN, "mean_ns", I64, "total / count")                              \
	X(SHARE, "pct_of_window", F64, "total to which whole_ns belongs")
NSX_COLUMNS(cols, COLUMNS);

/* The columns of a tally; the variants differ in the last one. */
#define SHARE_COLUMNS(X)                                                         \
	X(OF_WINDOW, "pct_of_window", F64,                                       \
	  "share of the window's length, summed over GPUs if there are several") \
	X(OF_THEM, "pct_of_their_time", F64, "share of the time of all these rows")
NSX_COLUMNS(share_cols, SHARE_COLUMNS);
const struct nsx_layout nsx_shares_layout = {NSX_COLS(share_cols)};
const struct nsx_layout nsx_sums_layout = {NSX_COLS(cols)};

struct nsx_tally {
	struct nsx_answer *a;
	struct nsx_groups groups;
	struct nsx_near near;
	struct nsx_tally_row *rows; /* one for each group */
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
}

struct nsx_tally_row *nsx_tally_add(struct nsx_tally *t, uint64_t a, uint64_t b, int64_t n,
				    int64_t ns)
{
	struct nsx_tally_row *row;
	struct nsx_err err;
	bool is_new;

	row = nsx_near_value(&t->groups, &t->near, &t->rows, a, b, "sums", &err);
	if (!row)
		nsx_die_of_memory(t->groups.n * sizeof(*row));
	is_new = !row->count.n;
	nsx_count_add(&row->count, n, ns);
	return is_new ? row : NULL;
}

void nsx_tally_op(struct nsx_tally *t, uint64_t of, size_t op, const char *kind, int64_t ns)
{
	const struct nsx_trace *trace = t->a->r->trace;
	const struct nsx_ops *o = &trace->ops;
	uint64_t name = o->kind[op] == NSX_OP_MEMCPY ?
				nsx_op_copy(trace, op)->copy_kind :
				nsx_op_name(trace, op);
	struct nsx_tally_row *row = nsx_tally_add(t, of << 2 | o->kind[op], name, 1, ns);

	if (row) {
		row->kind = kind;
		row->name = nsx_answer_op(t->a, op);
	}
}

void nsx_tally_end(struct nsx_tally *t, const char *key, int64_t whole_ns, enum nsx_sum_share share)
{
	struct nsx_arena *arena = t->a->out->arena;
	struct nsx_layout *layout = nsx_arena_get(arena, sizeof(*layout));
	struct nsx_col *columns = nsx_arena_get(arena, sizeof(cols));
	struct nsx_table *table;

	memcpy(columns, cols, sizeof(cols));
	columns[SHARE] = share_cols[share];
	*layout = nsx_sums_layout;
	layout->cols = columns;
	layout->key = key;
	layout->json_rows = (int)NSX_MIN(t->a->limit, 10000u);
	table = nsx_add_table(t->a->out, layout);
	for (size_t i = 0; i < t->groups.n; i++) {
		const struct nsx_tally_row *r = &t->rows[i];
		struct nsx_cell *row = nsx_add_row(table);

		row[KIND] = nsx_string(r->kind);
		row[NAME] = nsx_string(r->name);
		row[COUNT] = nsx_int(r->count.n);
		row[TOTAL] = nsx_int(r->count.ns);
		row[MEAN] = nsx_int(r->count.ns / r->count.n);
		row[SHARE] = nsx_pct((double)r->count.ns, (double)whole_ns);
	}
	nsx_table_sort(table, NSX_DESC(TOTAL), NSX_DESC(COUNT), KIND, NAME);
	if (table->nrows)
		nsx_answer_show(t->a, table);
	nsx_tally_free(t);
}
