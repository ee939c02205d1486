/* ask_sql.c - runs a SELECT that a user wrote.
 *
 * The SELECT runs on a connection of its own, with the views of fields.def and the private queries.
 * Data that may hold secrets is hidden: environment, commands, hosts, users, messages of the
 * profiler, and strings that no event refers to.
 */
#include <stdio.h>
#include <strings.h>
#include "agent/ask.h"
#include "base/child.h"
#include "schema/query.h"

/* SQLite's own count is half of what many small rows take, so this limit keeps the process below
 * 700 MB.
 */
enum { MAX_S = 5, MAX_MB = 320, MAX_OUT = 64 << 20 };

struct nsx_sql {
	struct nsx_db *db;
	const struct nsx_schema *schema;
};

static const enum nsx_view open_views[] = {
	NSX_VIEW_kernel, NSX_VIEW_memcpy, NSX_VIEW_memset, NSX_VIEW_graph, NSX_VIEW_runtime,
	NSX_VIEW_sync, NSX_VIEW_cuda_event, NSX_VIEW_overhead, NSX_VIEW_profiler_overhead,
	NSX_VIEW_nvtx, NSX_VIEW_osrt, NSX_VIEW_sched, NSX_VIEW_gpu_metric, NSX_VIEW_gpu_metric_info,
	NSX_VIEW_memory_event, NSX_VIEW_um_cpu_fault, NSX_VIEW_um_gpu_fault, NSX_VIEW_graph_event,
	NSX_VIEW_gpu, NSX_VIEW_cuda_device, NSX_VIEW_cuda_context, NSX_VIEW_cuda_stream,
	NSX_VIEW_process, NSX_VIEW_thread_name, NSX_VIEW_mpi_rank, NSX_VIEW_mpi_coll,
	NSX_VIEW_enum_memcpy, NSX_VIEW_enum_mem_kind,
};

void nsx_sql_free(struct nsx_sql *s)
{
	if (s)
		nsx_db_close(s->db);
	free(s);
}

/* Permissions ------------------------------------------------------------------*/

/* Whether a SELECT may read a column. Process names are hidden because they are paths. */
static bool may_select_column(void *ctx, const char *table, const char *column)
{
	const struct nsx_schema *s = ctx;
	const char *process_name = s->column[NSX_F_process_name];

	if (!*column) /* the query only counts rows, perhaps those of a WITH */
		return true;
	if (!strcmp(table, "string") || !strcmp(table, "_names") ||
	    (*table == '_' && NSX_ANY(i, nsx_nqueries, !strcmp(nsx_queries[i].name, table))))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(open_views); i++) {
		enum nsx_view v = open_views[i];
		const struct nsx_table_info *t = s->table[v];

		if (!strcmp(table, nsx_view_defs[v].name))
			return true;
		if (t && !strcasecmp(table, t->name))
			return v != NSX_VIEW_process || !process_name ||
			       strcasecmp(column, process_name) != 0;
	}
	return false;
}

static int ask_sql_create_views(const struct nsx_sql *s, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_free_at) bool *fields = nsx_alloc(NSX_NFIELDS, sizeof(*fields));
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	int rc = 0;

	memset(fields, true, NSX_NFIELDS * sizeof(*fields));
	fields[NSX_F_process_name] = false;
	for (size_t i = 0; i < ARRAY_LEN(open_views) && !rc; i++) {
		nsx_buf_clear(&b);
		nsx_schema_view_sql(s->schema, open_views[i], fields, &b);
		rc = nsx_db_exec(s->db, b.p, err);
	}
	for (unsigned i = 0; i < nsx_nqueries && !rc; i++) {
		if (*nsx_queries[i].name != '_')
			continue;
		nsx_buf_clear(&b);
		nsx_buf_printf(&b, "CREATE TEMP VIEW %s AS\n", nsx_queries[i].name);
		nsx_buf_adds(&b, nsx_queries[i].text);
		rc = nsx_db_exec(s->db, b.p, err);
	}
	return rc;
}

/* Strings that events refer to -------------------------------------------------------*/

static void note_name(uint8_t *used, const struct nsx_trace *t, nsx_str name)
{
	if (!strchr(nsx_text(t, name), '/'))
		used[name] = 1;
}

static void note_used_strings(const struct nsx_trace *t, uint8_t *used)
{
	for (uint32_t i = 0; i < t->nshapes; i++)
		used[t->shape_name[i]] = 1;
	for (size_t i = 0; i < t->calls.n; i++)
		used[nsx_call_name(&t->calls, i)] = 1;
	for (size_t i = 0; i < t->nvtx.n; i++)
		used[t->nvtx.name[i]] = 1;
	for (size_t i = 0; i < t->nosrt_sums; i++)
		used[t->osrt_sum[i].name] = 1;
	for (uint32_t i = 0; i < t->nthreads; i++)
		note_name(used, t, t->thread[i].name);
}

/* Whether a text, or its normalised form, is used in the trace. */
static int is_text_used(struct nsx_strings *texts, const uint8_t *used, size_t bound,
			const struct nsx_val *v, bool *ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	nsx_str id = 0;
	bool is_other = nsx_normalise(v->u.p, v->len, &b);
	int rc = nsx_strings_add(texts, is_other ? b.p : v->u.p, is_other ? b.n : v->len, &id, err);

	*ret = !rc && id < bound && used[id];
	return rc;
}

static int copy_strings(const struct nsx_sql *s, const struct nsx_trace *t, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_stmt_done) struct nsx_stmt *from = NULL, *into = NULL;
	size_t bound = nsx_strings_bound(t->strings);
	uint8_t *used = nsx_try_alloc(bound, 1, "names", err);
	struct nsx_strings *texts;
	int rc;

	if (!used)
		return err->rc;
	note_used_strings(t, used);
	used[0] = 0;
	texts = nsx_strings_over(t->strings);
	rc = nsx_db_prepare(s->db, "SELECT rid, id, value FROM all_strings", &from, err) ?:
	     nsx_db_prepare(s->db, "INSERT OR IGNORE INTO _names VALUES (?, ?, ?)", &into, err);
	while (!rc && (rc = nsx_step(from, err)) == 1) {
		struct nsx_val v[3];
		bool wanted = false;

		for (int i = 0; i < 3; i++)
			nsx_read_val(from, i, &v[i]);
		rc = v[2].type != NSX_V_TEXT ? 0 : is_text_used(texts, used, bound, &v[2],
								&wanted, err);
		if (!rc && wanted)
			rc = nsx_run_with(into, v, 3, err);
	}
	nsx_strings_free(texts);
	free(used);
	return rc;
}

/* The connection ---------------------------------------------------------------------*/

static int set_up(const struct nsx_sql *s, const struct nsx_trace *t, struct nsx_err *err)
{
	const struct nsx_schema *schema = s->schema;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	nsx_buf_adds(&b, "CREATE TEMP VIEW all_strings AS SELECT ");
	if (schema->table[NSX_VIEW_string] && schema->column[NSX_F_string_id] &&
	    schema->column[NSX_F_string_value]) {
		nsx_buf_adds(&b, "NULL AS rid, ");
		nsx_sql_name(&b, schema->column[NSX_F_string_id]);
		nsx_buf_adds(&b, " AS id, ");
		nsx_sql_name(&b, schema->column[NSX_F_string_value]);
		nsx_buf_adds(&b, " AS value FROM main.");
		nsx_sql_name(&b, schema->table[NSX_VIEW_string]->name);
	} else {
		nsx_buf_adds(&b, "NULL AS rid, NULL AS id, NULL AS value WHERE 0");
	}
	return nsx_db_exec(s->db, b.p, err) ?:
	       nsx_db_exec(s->db, "CREATE TEMP TABLE _names (rid, id INTEGER PRIMARY KEY, "
			   "value TEXT);CREATE TEMP VIEW string AS SELECT rid, id, value "
			   "FROM _names", err) ?:
	       copy_strings(s, t, err) ?: ask_sql_create_views(s, err);
}

static int connect_for_sql(struct nsx_subject *subject, struct nsx_err *err)
{
	const struct nsx_trace *t = subject->r->trace;
	struct nsx_sql *s;

	if (subject->sql)
		return 0;
	s = nsx_alloc(1, sizeof(*s));
	s->schema = t->schema;
	s->db = nsx_db_clone(t->schema->db);
	if (set_up(s, t, err)) {
		nsx_sql_free(s);
		return err->rc;
	}
	subject->sql = s;
	return 0;
}

/* In the child -----------------------------------------------------------------------*/

/* The child process sends column names, each with its NUL, and an empty name after the last; then
 * the cells of each row. The text of a cell follows the cell and has len bytes.
 */
struct select {
	struct nsx_db *db;
	const struct nsx_schema *schema;
	const char *sql;
	size_t limit; /* limit of rows; one more row is sent if there are more */
};

static void ask_sql_put_cell(struct nsx_buf *out, struct nsx_val *v)
{
	if (v->type == NSX_V_TEXT)
		v->len = NSX_MIN(v->len, NSX_MAX_TEXT);
	nsx_buf_add(out, (const char *)v, sizeof(*v));
	if (v->type == NSX_V_TEXT)
		nsx_buf_add(out, v->u.p, v->len);
}

static int run_select(void *ctx, struct nsx_buf *out, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_stmt_done) struct nsx_stmt *s = NULL;
	const struct select *q = ctx;
	int ncols, rc;

	nsx_db_guard(q->db, may_select_column, (void *)q->schema, (int64_t)MAX_MB << 20);
	rc = nsx_db_prepare(q->db, q->sql, &s, err);
	if (rc)
		return rc;
	ncols = nsx_stmt_columns(s);
	for (int i = 0; i < ncols; i++) {
		const char *name = nsx_stmt_column_name(s, i);

		nsx_buf_adds(out, *name ? name : "?column?");
		nsx_buf_add(out, "", 1);
	}
	nsx_buf_add(out, "", 1);
	for (size_t n = 0; n <= q->limit && (rc = nsx_step(s, err)) == 1; n++) {
		for (int i = 0; i < ncols; i++) {
			struct nsx_val v;

			nsx_read_val(s, i, &v);
			ask_sql_put_cell(out, &v);
		}
		if (out->n > MAX_OUT)
			return nsx_fail(err, NSX_E_NOMEM, "the result is too large");
	}
	return rc < 0 ? rc : 0;
}

/* Rows -------------------------------------------------------------------------------*/

static struct nsx_cell ask_sql_take_cell(struct nsx_answer *a, const char **p)
{
	struct nsx_val v;
	struct nsx_buf b = {0};

	memcpy(&v, *p, sizeof(v));
	*p += sizeof(v);
	switch (v.type) {
	case NSX_V_I64:
		return nsx_int(v.u.i);
	case NSX_V_F64:
		return nsx_real(v.u.f);
	case NSX_V_TEXT:
		nsx_buf_add_utf8(&b, *p, v.len);
		*p += v.len;
		return nsx_string(nsx_buf_keep(&b, a->out->arena));
	case NSX_V_BLOB:
		return nsx_string(nsx_say(a->out, "%u bytes", v.len));
	default:
		return nsx_null();
	}
}

/* The title of a column. If another column has the same name, its number is appended. */
static const char *ask_sql_title_of(const char *name, const struct nsx_col *cols, unsigned i,
				    struct nsx_arena *arena)
{
	struct nsx_buf b = {0};
	const char *title;

	nsx_buf_add_utf8(&b, name, strlen(name));
	title = nsx_buf_keep(&b, arena);
	return NSX_FIRST(k, i, !strcmp(cols[k].title, title),
			 nsx_arena_printf(arena, "%s_%u", title, i + 1), title);
}

/* The key of a column. Dots are escaped, because a dot in a key would begin an inner key. */
static const char *ask_sql_key_of(const char *title, struct nsx_arena *arena)
{
	struct nsx_buf b = {0};

	for (; *title; title++)
		nsx_buf_printf(&b, strchr(".\\", *title) ? "\\%c" : "%c", *title);
	return nsx_buf_keep(&b, arena);
}

static const struct nsx_layout *read_result_layout(struct nsx_answer *a, const char **p)
{
	struct nsx_arena *arena = a->out->arena;
	struct nsx_layout *l = nsx_arena_get(arena, sizeof(*l));
	struct nsx_col *cols;
	unsigned n = 0;

	for (const char *name = *p; *name; name += strlen(name) + 1)
		n++;
	cols = nsx_arena_get(arena, n * sizeof(*cols));
	for (unsigned i = 0; i < n; i++, *p += strlen(*p) + 1) {
		const char *title = ask_sql_title_of(*p, cols, i, arena);

		cols[i] = (struct nsx_col){.key = ask_sql_key_of(title, arena),
					   .title = title, .type = NSX_T_STR,
					   .help = "as selected",
					   .is_exact = true};
	}
	++*p;
	*l = (struct nsx_layout){.key = "rows", .cols = cols, .ncols = n,
				 .json_rows = NSX_ALL_ROWS};
	return l;
}

static void read_result_rows(struct nsx_answer *a, const struct nsx_buf *said)
{
	const char *p = said->p;
	struct nsx_table *t = nsx_add_table(a->out, read_result_layout(a, &p));

	while (p < said->p + said->n && t->nrows < a->limit) {
		struct nsx_cell *row = nsx_add_row(t);

		for (unsigned i = 0; i < t->layout->ncols; i++)
			row[i] = ask_sql_take_cell(a, &p);
	}
	if (p < said->p + said->n)
		nsx_note(a->out, "there are more than these %zu rows: ask for fewer rows or for "
			 "sums", t->nrows);
	nsx_answer_show(a, t);
}

/* Mending ----------------------------------------------------------------------------*/

static bool ask_sql_is_named(const char *sql, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = sql; (p = strcasestr(p, name)); p += n)
		if ((p == sql || !strchr("_.", p[-1])) &&
		    !strchr("_abcdefghijklmnopqrstuvwxyz", p[n] | 0x20))
			return true;
	return false;
}

/* Adds to an error of an unknown name the columns of the tables that the SELECT names, or the names
 * of all tables if it names none.
 */
static void add_known_names_to_error(const char *sql, struct nsx_err *err)
{
	enum { MOST = 500 };
	const char *colon = strrchr(err->msg, ':'), *nearest = NULL, *dot;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	size_t best = SIZE_MAX;
	char word[60];

	snprintf(word, sizeof(word), "%s", colon ? colon + 2 : "");
	if (strstr(err->msg, ": no such function: ")) {
		(void)nsx_fail(err, NSX_E_NAME, "no function '%s'; text is compared with LIKE or "
				"GLOB", word);
		return;
	}
	dot = strrchr(word, '.') ? strrchr(word, '.') + 1 : word;
	for (size_t i = 0; i < ARRAY_LEN(open_views); i++) {
		enum nsx_view v = open_views[i];

		if (nsx_is_nearer(dot, strlen(dot), nsx_view_defs[v].name, &best))
			nearest = nsx_view_defs[v].name;
		if (!ask_sql_is_named(sql, nsx_view_defs[v].name) || b.n > MOST)
			continue;
		nsx_buf_printf(&b, "; %s has rid", nsx_view_defs[v].name);
		for (unsigned k = 0; k < nsx_view_nfields(v); k++) {
			const char *name = nsx_field_defs[nsx_view_defs[v].first + k].name;

			if (nsx_is_nearer(dot, strlen(dot), name, &best))
				nearest = name;
			if (b.n < MOST)
				nsx_buf_printf(&b, ", %s", name);
		}
	}
	if (!b.n) {
		nsx_buf_adds(&b, "; the tables are string");
		for (size_t i = 0; i < ARRAY_LEN(open_views); i++)
			nsx_buf_printf(&b, ", %s", nsx_view_defs[open_views[i]].name);
	}
	(void)nsx_fail(err, NSX_E_NAME, "no column or table '%s'%s%s%s%s", word,
		       nearest ? "; did you mean '" : "", nearest ? nearest : "",
		       nearest ? "'?" : "", nearest ? b.p + 1 : b.p);
}

static bool is_select(const char *sql)
{
	static const char *const words[] = {"select", "with", "values"};

	sql += strspn(sql, " \t\r\n(");
	return NSX_ANY(i, ARRAY_LEN(words), !strncasecmp(sql, words[i], strlen(words[i])));
}

static int ask_sql_refuse(struct nsx_err *err)
{
	return nsx_fail(err, NSX_E_DENIED, "this statement is not allowed: give one SELECT on "
			"tables of events; functions may only compute; texts are in 'string'");
}

/* Rewords an error of SQLite in terms of the user's SELECT. */
static int ask_sql_explain(struct nsx_err *err, const char *sql)
{
	switch (err->rc) {
	case NSX_E_NAME:
		add_known_names_to_error(sql, err);
		return err->rc;
	case NSX_E_DENIED:
		return ask_sql_refuse(err);
	case NSX_E_SLOW:
		return nsx_fail(err, NSX_E_SLOW, "the SELECT took more than %d s: sum "
				"over fewer rows, or ask 'window' or 'kernel'", MAX_S);
	case NSX_E_NOMEM:
		return nsx_fail(err, NSX_E_NOMEM, "the SELECT took more than %d MB of memory: ask "
				"for fewer rows or for sums", MAX_MB);
	default:
		return err->rc;
	}
}

int nsx_ask_sql(struct nsx_answer *a, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf said = {0};
	struct select q = {.sql = a->argument, .limit = a->limit};
	int rc = is_select(a->argument) ? connect_for_sql(a->subject, err) : ask_sql_refuse(err);

	if (rc)
		return rc;
	a->window = a->r->trace->full;
	q.db = a->subject->sql->db;
	q.schema = a->subject->sql->schema;
	rc = nsx_in_child(run_select, &q, MAX_S, &said, err);
	if (!rc)
		read_result_rows(a, &said);
	for (size_t i = 0; !rc && i < ARRAY_LEN(open_views); i++)
		if (q.schema->refused[open_views[i]] &&
		    ask_sql_is_named(a->argument, nsx_view_defs[open_views[i]].name))
			nsx_note(a->out, "%s %s", nsx_view_defs[open_views[i]].name,
				 q.schema->refused[open_views[i]]);
	return rc ? ask_sql_explain(err, a->argument) : 0;
}
