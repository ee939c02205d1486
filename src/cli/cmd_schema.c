/* cmd_schema.c - what is in a file, and what each analysis can do with it.
 *
 * Prints only the catalogue and row counts, never row contents.
 */
#include <inttypes.h>
#include "cli/cmd_common.h"
#include "emit/emit.h"
#include "passes/input/describe.h"
#include "sqlite/source.h"

struct args {
	bool json;
};
static const struct nsx_opt opts[] = {
	NSX_OPT(struct args, 0, "json", NULL, NULL, FLAG, json, "the contents as JSON",
		.is_json = true),
};

#define VIEW_COLUMNS(X)                                                       \
	X(VIEW, "name", STR, "our name: a view in queries")                   \
	X(TABLE, "table", STR, "table behind it; null: not in this file")     \
	X(ROWS, "rows", I64, "rows of the table")                             \
	X(MISSING, "missing", LIST, "columns that it lacks")                  \
	X(UNUSED, "unused", LIST, "columns that nothing here reads")          \
	X(HELP, "help", STR, "what a row is")
NSX_COLUMNS(view_cols, VIEW_COLUMNS);
#define OTHER_COLUMNS(X)                                                      \
	X(OTHER_TABLE, "table", STR, "a table that nothing here reads")       \
	X(OTHER_WHAT, "what", STR, "table, view, virtual table")              \
	X(OTHER_ROWS, "rows", I64, "rows of the table")
NSX_COLUMNS(other_cols, OTHER_COLUMNS);
#define PASS_COLUMNS(X)                                                       \
	X(ID, "id", STR, "the analysis")                                      \
	X(TITLE, "title", STR, "heading in the report")                       \
	X(CAN, "can_run", BOOL, "whether the file has what it needs")         \
	X(LACKS, "missing", STR, "what it lacks")
NSX_COLUMNS(pass_cols, PASS_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "known_tables", NSX_COLS(view_cols), .json_rows = NSX_ALL_ROWS},
	{.key = "other_tables", NSX_COLS(other_cols), .json_rows = NSX_ALL_ROWS},
	{.key = "analyses", NSX_COLS(pass_cols), .json_rows = NSX_ALL_ROWS},
};

/* Filling -------------------------------------------------------------------*/

static struct nsx_cell row_count(const struct nsx_schema *s, const struct nsx_table_info *t)
{
	int64_t n = nsx_is_readable(t) ? nsx_count_rows(s->db, t->name) : -1;

	return n < 0 ? nsx_null() : nsx_int(n);
}

static bool is_column_read(const struct nsx_schema *s, enum nsx_view v, const char *column)
{
	for (unsigned i = 0; i < nsx_view_nfields(v); i++) {
		const char *c = s->column[nsx_view_defs[v].first + i];

		if (c && !strcmp(c, column))
			return true;
	}
	return false;
}

/* Whether a field is not needed, as plain process and thread ids are not in exports with global
 * ids.
 */
static bool is_field_not_needed(const struct nsx_schema *s, enum nsx_view v, unsigned field)
{
	const struct nsx_field_def *d = &nsx_field_defs[nsx_view_defs[v].first + field];
	bool has_global = false;

	for (unsigned i = 0; i < nsx_view_nfields(v); i++) {
		unsigned f = nsx_view_defs[v].first + i;

		has_global |= nsx_has(s, f) && !strncmp(nsx_field_defs[f].name, "global_", 7);
	}
	return has_global && (!strcmp(d->name, "pid") || !strcmp(d->name, "tid"));
}

static void fill_view(const struct nsx_schema *s, enum nsx_view v,
		      struct nsx_section *out, struct nsx_cell *row)
{
	const struct nsx_view_def *def = &nsx_view_defs[v];
	const struct nsx_table_info *t = s->table[v];
	unsigned nfields = nsx_view_nfields(v), nmissing = 0, nunused = 0;
	const char **missing, **unused;

	row[VIEW] = nsx_string(def->name);
	row[HELP] = nsx_string(!s->refused[v] ? def->help :
			       nsx_say(out, "%s; %s", def->help, s->refused[v]));
	if (!t)
		return;
	missing = nsx_arena_get(out->arena, (nfields + 1) * sizeof(*missing));
	unused = nsx_arena_get(out->arena, (t->ncolumns + 1) * sizeof(*unused));
	for (unsigned i = 0; i < nfields; i++)
		if (!s->column[def->first + i] && !is_field_not_needed(s, v, i))
			missing[nmissing++] = nsx_arena_printf(out->arena, "%.*s",
				(int)strcspn(nsx_field_defs[def->first + i]
						     .columns, "|"),
				nsx_field_defs[def->first + i].columns);
	for (unsigned i = 0; i < t->ncolumns; i++)
		if (!is_column_read(s, v, t->columns[i].name))
			unused[nunused++] = t->columns[i].name;
	row[TABLE] = nsx_string(t->name);
	row[ROWS] = row_count(s, t);
	row[MISSING] = nsx_list(missing);
	row[UNUSED] = nsx_list(unused);
}

static int fill_answers(const struct nsx_schema *s, struct nsx_section *out, struct nsx_err *err)
{
	struct nsx_table *views = nsx_add_table(out, &layouts[0]);
	struct nsx_table *others = nsx_add_table(out, &layouts[1]);
	struct nsx_table *passes = nsx_add_table(out, &layouts[2]);
	const struct nsx_table_info **tables;
	struct nsx_cell *row;
	size_t n;

	for (unsigned v = 0; v < NSX_NVIEWS; v++)
		fill_view(s, v, out, nsx_add_row(views));
	tables = nsx_sorted_tables(s, out->arena, &n);
	for (size_t i = 0; i < n; i++) {
		if (NSX_ANY(v, NSX_NVIEWS, s->table[v] == tables[i]))
			continue;
		row = nsx_add_row(others);
		row[OTHER_TABLE] = nsx_string(tables[i]->name);
		row[OTHER_WHAT] = nsx_string(nsx_table_kinds[tables[i]->kind]);
		row[OTHER_ROWS] = row_count(s, tables[i]);
	}
	for (unsigned i = 0; i < nsx_npasses; i++) {
		const struct nsx_pass *p = nsx_passes[i];
		const char *lacks = nsx_pass_lacks(p, s, out->arena);

		row = nsx_add_row(passes);
		row[ID] = nsx_string(p->id);
		row[TITLE] = nsx_string(p->title);
		row[CAN] = nsx_bool(!lacks);
		row[LACKS] = nsx_string(lacks);
	}
	return nsx_section_whole(out, err) ? err->rc : nsx_stopped(err);
}

/* Printing ------------------------------------------------------------------*/

static void print_list(const char *label, const char *const *list)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	if (!*list)
		return;
	nsx_buf_printf(&b, "      %s:", label);
	for (; *list; list++)
		nsx_buf_printf(&b, " %s%s", *list, list[1] ? "," : "");
	nsx_print_line(b.p);
}

static void print_rows(const char *name, const struct nsx_cell *rows, const char *what)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	nsx_buf_printf(&b, "  %s", name);
	if (rows->type == NSX_T_I64)
		nsx_buf_printf(&b, ", %" PRId64 " row%s", rows->u.i, rows->u.i == 1 ? "" : "s");
	nsx_buf_printf(&b, "%s%s", *what ? ": " : "", what);
	nsx_print_line(b.p);
}

static void print_views(const struct nsx_table *t, bool present)
{
	puts(present ? "\nTables that are read:" :
		       "\nTables that would be read, but are not in this file:");
	for (size_t i = 0; i < t->nrows; i++) {
		const struct nsx_cell *row = nsx_row_at(t, i);

		if ((row[TABLE].type == NSX_T_STR) != present)
			continue;
		if (!present) {
			printf("  %.*s: %s\n", (int)strcspn(nsx_view_defs[i].tables, "|"),
			       nsx_view_defs[i].tables, row[HELP].u.s);
			continue;
		}
		print_rows(row[TABLE].u.s, &row[ROWS], row[HELP].u.s);
		print_list("lacks", row[MISSING].u.list);
		print_list("not read", row[UNUSED].u.list);
	}
}

static void print_section(const struct nsx_schema *s, const struct nsx_section *out)
{
	const struct nsx_table *views = out->tables[0],
			       *others = out->tables[1],
			       *passes = out->tables[2];
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	nsx_buf_printf(&b, "%s: %s by Nsight Systems %s", nsx_db_path(s->db),
		       nsx_db_source(s->db) ? "captured" : "exported",
		       *s->product_version ? s->product_version : "(unknown)");
	if (!nsx_db_source(s->db))
		nsx_buf_printf(&b, ", schema %s",
			       *s->schema_version ? s->schema_version : "(unknown)");
	nsx_print_line(b.p);
	print_views(views, true);
	print_views(views, false);
	puts("\nOther tables, which nothing here reads:");
	for (size_t i = 0; i < others->nrows; i++) {
		const struct nsx_cell *row = nsx_row_at(others, i);

		print_rows(row[OTHER_TABLE].u.s, &row[OTHER_ROWS],
			   strcmp(row[OTHER_WHAT].u.s, "table") ?
				   row[OTHER_WHAT].u.s : "");
	}
	puts("\nAnalyses:");
	for (size_t i = 0; i < passes->nrows; i++) {
		const struct nsx_cell *row = nsx_row_at(passes, i);

		printf("  %-24s %s%s\n", row[ID].u.s,
		       row[CAN].u.b ? "yes" : nsx_passes[i]->by_phase ?
		       "only with " : "no: the trace has no ", row[CAN].u.b ? "" : row[LACKS].u.s);
	}
}

/* Appends "t=[a,b]" for --print-schema, for tables with times. */
static void add_extent(const struct nsx_schema *s,
		       const struct nsx_table_info *t, struct nsx_buf *b)
{
	NSX_AT_EXIT(nsx_stmt_done) struct nsx_stmt *st = NULL;
	bool has_end = nsx_column_find(t, "end") >= 0;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf sql = {0};
	struct nsx_val v[2];
	struct nsx_err err;

	if (nsx_column_find(t, "start") < 0)
		return;
	nsx_buf_printf(&sql, "SELECT min(start), max(\"%s\") FROM main.",
		       has_end ? "end" : "start");
	nsx_sql_name(&sql, t->name);
	if (nsx_db_prepare(s->db, sql.p, &st, &err) || nsx_step(st, &err) != 1)
		return;
	nsx_read_val(st, 0, &v[0]);
	nsx_read_val(st, 1, &v[1]);
	if (v[0].type == NSX_V_I64 && v[1].type == NSX_V_I64)
		nsx_buf_printf(b, ", t=[%" PRId64 ",%" PRId64 "]", v[0].u.i, v[1].u.i);
}

static void print_table(const struct nsx_schema *s, const struct nsx_table_info *t)
{
	struct nsx_cell rows = row_count(s, t);
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	nsx_buf_printf(&b, "- %s", t->name);
	if (rows.type == NSX_T_I64) {
		nsx_buf_printf(&b, " (rows=%" PRId64, rows.u.i);
		add_extent(s, t, &b);
		nsx_buf_adds(&b, ")");
	}
	for (unsigned i = 0; i < t->ncolumns; i++)
		nsx_buf_printf(&b, "%s %s%s%s", i ? "," : ":",
			       t->columns[i].name, *t->columns[i].type ? ":" : "",
			       t->columns[i].type);
	nsx_print_line(b.p);
}

void nsx_print_tables(const struct nsx_schema *s)
{
	static const struct {
		const char *label;
		enum nsx_view view;
	} uses[] = {
		{"String", NSX_VIEW_string},   {"Kernel", NSX_VIEW_kernel},
		{"Runtime", NSX_VIEW_runtime}, {"NVTX", NSX_VIEW_nvtx},
		{"Sync", NSX_VIEW_sync},
	};
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	const struct nsx_table_info **tables;
	size_t n;

	puts("Detected tables:");
	for (size_t i = 0; i < ARRAY_LEN(uses); i++)
		printf("  %s table: %s\n", uses[i].label,
		       s->table[uses[i].view] ? s->table[uses[i].view]->name :
						"None");
	puts("\nAll tables (first columns):");
	tables = nsx_sorted_tables(s, a, &n);
	for (size_t i = 0; i < n && !nsx_stop_flag; i++)
		print_table(s, tables[i]);
	puts("");
}

/* The command ------------------------------------------------------------------*/

static int cmd_schema_describe(const struct nsx_schema *s, bool json, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_section_done) struct nsx_section out = {.arena = nsx_arena_new()};

	if (json)
		nsx_describe_schema(s, &out);
	if (fill_answers(s, &out, err))
		return err->rc;
	if (json)
		return nsx_emit_json_section(&out, stdout, err);
	print_section(s, &out);
	return 0;
}

static int cmd_schema_run(void *args, int n, char **operands, struct nsx_err *err)
{
	const struct args *a = args;
	struct nsx_schema schema;
	int rc;

	if (n != 1)
		return nsx_fail(err, NSX_E_USAGE, "give one trace: nsys-explain schema TRACE");
	if (nsx_schema_open(operands[0], &schema, err))
		return err->rc;
	rc = cmd_schema_describe(&schema, a->json, err) ?:
	     nsx_cmd_partial(nsx_schema_loss(&schema, 0));
	nsx_schema_close(&schema);
	return rc;
}

const struct nsx_cmd nsx_cmd_schema = {
	.name = "schema",
	.usage = "TRACE [--json]",
	.summary = "show what is in a trace, and which analyses can use it",
	.doc = "Lists the tables of an export: those that are read, with the columns that they "
	       "lack and the columns that nothing reads; those that are absent (an export leaves "
	       "empty tables out); and those that are not known. Then lists the analyses, and "
	       "what each one lacks. Prints no row.",
	.examples = "nsys-explain schema run.sqlite  # for people\n"
		    "nsys-explain schema run.sqlite --json | jq .analyses  # for scripts",
	.opts = opts,
	.nopts = ARRAY_LEN(opts),
	NSX_ARGS(struct args),
	.run = cmd_schema_run,
};
