/* prop_sql.c - every query gives the rows of its analysis.
 *
 * usage: prop_sql TRACE...
 *
 * Each trace is explained. Then each query whose head names a table ("-- @table KEY") is run on a
 * connection that has only the tables made by the script of all queries. The rows of the query and
 * of the table must be the same multiset in the columns that both have: integers and text exactly,
 * reals to 1e-9. Queries of analyses that could not be computed must still prepare.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "passes/pass.h"
#include "schema/script.h"

enum { MAX_COLUMNS = 64, MAX_QUERIES = 64, SHOWN = 3, SLOW_S = 5 };
#define TOLERANCE 1e-9

static int failures, compared, prepared;
static const char *trace_name;

static void fail(const char *query, const char *what, const char *detail)
{
	printf("%s: %s: %s%s%s\n", trace_name, query, what, *detail ? ": " : "", detail);
	failures++;
}

/* Rows: the columns both sides have, exact ones first --------------------------*/

struct columns {
	unsigned n, nexact;
	struct {
		int in_table, in_query;
	} at[MAX_COLUMNS];
};
struct rows {
	struct nsx_cell *cells; /* n x columns */
	size_t n, cap;
	unsigned ncols, nexact;
	struct nsx_arena *arena; /* text */
};

static void pair_columns(const struct nsx_table *t, struct nsx_stmt *st,
			 bool reals, struct columns *ret)
{
	for (int q = 0; q < nsx_stmt_columns(st); q++) {
		int c = nsx_table_col(t, nsx_stmt_column_name(st, q));

		if (c < 0 || ret->n == MAX_COLUMNS ||
		    (t->layout->cols[c].type == NSX_T_F64) != reals)
			continue;
		ret->at[ret->n].in_table = c;
		ret->at[ret->n++].in_query = q;
	}
	if (!reals)
		ret->nexact = ret->n;
}

static struct nsx_cell *new_row(struct rows *r)
{
	struct nsx_err err;

	if (nsx_grow(&r->cells, &r->cap, (r->n + 1) * r->ncols, sizeof(*r->cells), "rows", &err)) {
		fprintf(stderr, "prop_sql: %s\n", err.msg);
		exit(3);
	}
	return r->cells + r->n++ * r->ncols;
}

/* Makes a text cell in the form of the tables: valid UTF-8, cut at the limit for names. */
static struct nsx_cell text_cell(const struct nsx_val *v, struct nsx_arena *a)
{
	struct nsx_buf b = {0};
	struct nsx_cell c;

	nsx_buf_add_utf8(&b, v->u.p, NSX_MIN(v->len, NSX_MAX_TEXT));
	c = nsx_string(nsx_arena_strdup(a, b.p ? b.p : ""));
	nsx_buf_done(&b);
	return c;
}

static int read_query(struct nsx_stmt *st, const struct columns *c,
		      struct rows *r, struct nsx_err *err)
{
	int rc;

	while ((rc = nsx_step(st, err)) == 1) {
		struct nsx_cell *row = new_row(r);

		for (unsigned i = 0; i < c->n; i++) {
			struct nsx_val v;

			nsx_read_val(st, c->at[i].in_query, &v);
			row[i] = v.type == NSX_V_I64 ? nsx_int(v.u.i) :
				 v.type == NSX_V_F64 ? nsx_real(v.u.f) :
				 v.type == NSX_V_TEXT ?
					 text_cell(&v, r->arena) : nsx_null();
			if (i >= c->nexact && v.type == NSX_V_I64)
				row[i] = nsx_real((double)v.u.i);
		}
	}
	return rc;
}

static void read_table(const struct nsx_table *t, const struct columns *c, struct rows *r)
{
	for (size_t k = 0; k < t->nrows; k++) {
		struct nsx_cell *row = new_row(r);

		for (unsigned i = 0; i < c->n; i++) {
			row[i] = nsx_row_at(t, k)[c->at[i].in_table];
			if (row[i].type == NSX_T_BOOL)
				row[i] = nsx_int(row[i].u.b);
			/* "7 (host 2)" stands for pid 7 where several processes have it. */
			if (row[i].type == NSX_T_STR &&
			    t->layout->cols[c->at[i].in_table].type == NSX_T_I64)
				row[i] = nsx_int(strtoll(row[i].u.s, NULL, 10));
		}
	}
}

/* Comparing ------------------------------------------------------------------*/

static int cmp_cells(const struct nsx_cell *a, const struct nsx_cell *b)
{
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	switch (a->type) {
	case NSX_T_I64:
		return (a->u.i > b->u.i) - (a->u.i < b->u.i);
	case NSX_T_F64:
		return (a->u.f > b->u.f) - (a->u.f < b->u.f);
	case NSX_T_STR:
		return strcmp(a->u.s, b->u.s);
	default:
		return 0;
	}
}

static int cmp_rows(const void *a, const void *b, void *ctx)
{
	const struct rows *r = ctx;
	int c = 0;

	for (unsigned i = 0; !c && i < r->ncols; i++)
		c = cmp_cells((const struct nsx_cell *)a + i, (const struct nsx_cell *)b + i);
	return c;
}

static void sort(struct rows *r)
{
	if (r->n)
		qsort_r(r->cells, r->n, r->ncols * sizeof(*r->cells), cmp_rows, r);
}

static bool same(const struct nsx_cell *a, const struct nsx_cell *b)
{
	double most;

	if (a->type != NSX_T_F64 || b->type != NSX_T_F64)
		return !cmp_cells(a, b);
	most = fmax(fabs(a->u.f), fabs(b->u.f));
	return fabs(a->u.f - b->u.f) <= TOLERANCE * fmax(most, 1e-3);
}

static void add_cell(struct nsx_buf *b, const struct nsx_cell *c)
{
	switch (c->type) {
	case NSX_T_I64:
		nsx_buf_printf(b, "%lld", (long long)c->u.i);
		break;
	case NSX_T_F64:
		nsx_buf_printf(b, "%.17g", c->u.f);
		break;
	case NSX_T_STR:
		nsx_buf_printf(b, "'%.60s'", c->u.s);
		break;
	default:
		nsx_buf_adds(b, "null");
	}
}

static void show(const struct rows *table, const struct rows *query, size_t k, struct nsx_buf *b)
{
	const struct rows *sides[] = {table, query};

	for (unsigned s = 0; s < 2; s++) {
		nsx_buf_adds(b, s ? "\n    query:" : "\n    table:");
		for (unsigned i = 0; i < sides[s]->ncols; i++) {
			nsx_buf_adds(b, " ");
			add_cell(b, sides[s]->cells + k * sides[s]->ncols + i);
		}
	}
}

static void compare(const char *name, struct rows *table, struct rows *query)
{
	size_t n = NSX_MIN(table->n, query->n), bad = 0;
	struct nsx_buf b = {0};

	sort(table);
	sort(query);
	for (size_t k = 0; k < n; k++) {
		bool ok = true;

		for (unsigned i = 0; i < table->ncols; i++)
			ok &= same(table->cells + k * table->ncols + i,
				   query->cells + k * table->ncols + i);
		if (!ok && ++bad <= SHOWN)
			show(table, query, k, &b);
	}
	compared++;
	if (bad || table->n != query->n) {
		char what[96];

		snprintf(what, sizeof(what), "%zu rows in the table, %zu of the query, %zu differ",
			 table->n, query->n, bad);
		fail(name, what, b.p ? b.p : "");
	}
	nsx_buf_done(&b);
}

/* Queries --------------------------------------------------------------------*/

/* Finds the word after "-- @table "; false: the query names none. */
static bool table_of(const char *sql, char *ret, size_t size)
{
	const char *at = strstr(sql, "-- @table ");

	if (!at)
		return false;
	at += strlen("-- @table ");
	snprintf(ret, size, "%.*s", (int)strcspn(at, " \n"), at);
	return true;
}

/* Checks that the result has the columns that the "-- @col" lines of the query name, in that
 * order, and that the table has the same. Every query must say that its role is
 * "check": it checks an analysis written in C.
 */
static void check_columns(struct nsx_stmt *st, const struct nsx_query *q, const struct nsx_table *t)
{
	const char *at = q->text;
	char name[64];
	int n = 0;

	while ((at = strstr(at, "-- @col ")) != NULL) {
		at += strlen("-- @col ");
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, " \n"), at);
		if (n >= nsx_stmt_columns(st) || strcmp(nsx_stmt_column_name(st, n), name))
			fail(q->name, "no such column in this place", name);
		if (t && nsx_table_col(t, name) < 0)
			fail(q->name, "its table has no column", name);
		n++;
	}
	if (n != nsx_stmt_columns(st))
		fail(q->name, "columns without a @col line", "");
	if (!strstr(q->text, "\n-- @role check\n"))
		fail(q->name, "no line '-- @role check'", "");
}

static int run_query(struct nsx_db *db, const struct nsx_query *q,
		     const struct nsx_table *t, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_stmt_done) struct nsx_stmt *st = NULL;
	struct nsx_arena *a = nsx_arena_new();
	struct columns c = {0};
	int rc = nsx_db_prepare(db, q->text, &st, err);

	prepared++;
	if (!rc)
		check_columns(st, q, t);
	if (!rc && t) {
		pair_columns(t, st, false, &c);
		pair_columns(t, st, true, &c);
		if (!c.n)
			fail(q->name, "no column in common with", t->layout->key);
	}
	if (!rc && c.n) {
		struct rows table = {.ncols = c.n, .nexact = c.nexact};
		struct rows query = {.ncols = c.n, .arena = a};

		read_table(t, &c, &table);
		rc = read_query(st, &c, &query, err);
		if (!rc)
			compare(q->name, &table, &query);
		free(table.cells);
		free(query.cells);
	}
	nsx_arena_free(a);
	return rc;
}

static const struct nsx_table *find_table(const struct nsx_section *s, const char *key)
{
	for (size_t i = 0; i < s->ntables; i++) {
		const struct nsx_layout *l = s->tables[i]->layout;

		if ((l->key && !strcmp(l->key, key)) || (l->csv && !strcmp(l->csv, key)))
			return s->tables[i];
	}
	return NULL;
}

/* Opens a connection with the tables that the queries of all sections read. One script makes
 * them, so that a table that several queries read is computed once. NULL: failed.
 */
static struct nsx_db *open_script(const struct nsx_report *r)
{
	struct nsx_scripts *scripts = nsx_scripts_new(r->trace->schema);
	struct nsx_db *db = nsx_db_clone(r->trace->schema->db);
	const struct nsx_query *queries[MAX_QUERIES], *q;
	struct nsx_buf b = {0};
	struct nsx_err err;
	size_t n = 0;

	for (size_t s = 0; s < r->nsections; s++) {
		const struct nsx_pass *pass = r->sections[s].pass;

		for (unsigned i = 0; (q = nsx_pass_query(pass, i)); i++)
			if (n < MAX_QUERIES)
				queries[n++] = q;
	}
	nsx_scripts_add(scripts, queries, n, &b);
	*strstr(b.p, queries[0]->text) = '\0';
	if (nsx_db_exec(db, b.p, &err)) {
		fail("the script", "fails", err.msg);
		nsx_db_close(db);
		db = NULL;
	}
	nsx_buf_done(&b);
	nsx_scripts_free(scripts);
	return db;
}

static void check_section(struct nsx_db *db, const struct nsx_section *s)
{
	const struct nsx_query *q;
	char key[64];

	for (unsigned i = 0; (q = nsx_pass_query(s->pass, i)); i++) {
		const struct nsx_table *t = NULL;
		time_t begun = time(NULL);
		struct nsx_err err;

		if (s->status == NSX_S_ANSWERED && !s->sql_differs &&
		    table_of(q->text, key, sizeof(key)) &&
		    !(t = find_table(s, key)))
			fail(q->name, "its analysis has no table", key);
		if (run_query(db, q, t, &err))
			fail(q->name, "fails", err.msg);
		if (time(NULL) - begun >= SLOW_S)
			printf("%s: %s: took %ld s\n", trace_name, q->name,
			       (long)(time(NULL) - begun));
	}
}

/* Whether the trace has GPUs that only their processes' collectives tell apart; SQL sees them as
 * one.
 */
static bool is_told_apart(const struct nsx_trace *t)
{
	for (uint32_t d = 0; d < t->ndevices; d++)
		if (!strncmp(nsx_text(t, t->device[d].gpu), "pid", 3))
			return true;
	return false;
}

static int check_trace(const char *path, struct nsx_err *err)
{
	struct nsx_opts o = {NSX_OPTS_DEFAULT, .path = path, .threads = 2};
	struct nsx_report *r;
	struct nsx_db *db;
	int rc = nsx_report_open(&o, &r, err);

	if (rc)
		return rc;
	db = is_told_apart(r->trace) ? NULL : open_script(r);
	for (size_t i = 0; db && i < r->nsections; i++)
		check_section(db, &r->sections[i]);
	nsx_db_close(db);
	nsx_report_free(r);
	return 0;
}

int main(int argc, char **argv)
{
	struct nsx_err err;

	for (int i = 1; i < argc; i++) {
		trace_name = strrchr(argv[i], '/');
		trace_name = trace_name ? trace_name + 1 : argv[i];
		if (check_trace(argv[i], &err))
			fail("the trace", "cannot be explained", err.msg);
	}
	printf("prop_sql: %d traces, %d queries prepared, %d compared, "
	       "%d failed\n", argc - 1, prepared, compared, failures);
	return failures > 0;
}
