/* api.c - the public interface (include/nsx), implemented with the program's modules. */
#include <nsx/report.h>
#include <nsx/schema.h>
#include "api/problem.h"
#include "emit/emit.h"
#include "emit/target.h"
#include "facts/replay/spec.h"
#include "passes/engine.h"
#include "passes/pass.h"

_Static_assert((int)NSX_CODE_USAGE == (int)NSX_E_USAGE && sizeof(((struct nsx_problem *)0)->text) ==
			       sizeof(((struct nsx_err *)0)->msg),
	       "problems are errors under another name");

struct nsx_export {
	char *path;
	struct nsx_schema schema;
	struct nsx_arena *arena;
};
enum { NDOCUMENTS = NSX_DOC_MARKDOWN + 1 };
struct nsx_result {
	struct nsx_report *report;
	struct nsx_engine engine;
	unsigned threads;
	char *document[NDOCUMENTS]; /* NULL: not requested */
};

int nsx_tell_problem(const struct nsx_err *err, struct nsx_problem *problem)
{
	problem->code = err->rc == NSX_E_CLOSED ? NSX_CODE_IO : (int)err->rc;
	memcpy(problem->text, err->msg, sizeof(problem->text));
	return problem->code;
}

const char *nsx_version(void)
{
	return NSX_VERSION;
}

/* Exports ------------------------------------------------------------------------*/

int nsx_export_open(const char *path, struct nsx_export **ret, struct nsx_problem *problem)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_export *e = nsx_arena_get(a, sizeof(*e));
	struct nsx_err err;
	int rc;

	e->arena = a;
	e->path = nsx_arena_strdup(a, path);
	rc = nsx_schema_open(path, &e->schema, &err);
	if (rc) {
		nsx_arena_free(a);
		return nsx_tell_problem(&err, problem);
	}
	*ret = e;
	return 0;
}

void nsx_export_close(struct nsx_export *e)
{
	if (!e)
		return;
	nsx_schema_close(&e->schema);
	nsx_arena_free(e->arena);
}

const char *nsx_export_product_version(const struct nsx_export *e)
{
	return e->schema.product_version;
}

const char *nsx_export_table(const struct nsx_export *e, const char *name)
{
	return NSX_FIRST(v, NSX_NVIEWS, !strcmp(nsx_view_defs[v].name, name),
			 e->schema.table[v] ? e->schema.table[v]->name : NULL, NULL);
}

const char *nsx_export_lacks(struct nsx_export *e, const char *analysis)
{
	const struct nsx_pass *p = nsx_pass_find(analysis);

	return p ? nsx_pass_missing(p, &e->schema, e->arena) : "";
}

/* Results ------------------------------------------------------------------------*/

static int api_check_ids(const char *list, struct nsx_err *err)
{
	while (list && *list) {
		size_t n = strcspn(list, ",");
		char id[64];

		snprintf(id, sizeof(id), "%.*s", (int)n, list);
		if (!nsx_pass_find(id))
			return nsx_fail(err, NSX_E_USAGE, "no analysis '%s'", id);
		list += n + (list[n] == ',');
	}
	return 0;
}

/* Checks and counts the specs. */
static int api_check_what_ifs(const char *const *specs, size_t *ret_n, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *scratch = nsx_arena_new();
	struct nsx_spec s;
	int rc = 0;

	for (*ret_n = 0; !rc && specs && specs[*ret_n]; ++*ret_n)
		rc = nsx_spec_parse(specs[*ret_n], scratch, &s, err);
	return rc;
}

int nsx_load(struct nsx_export *e, const struct nsx_load_options *options,
	     struct nsx_result **ret, struct nsx_problem *problem)
{
	struct nsx_load_options o = {0};
	struct nsx_result *r;
	struct nsx_opts opts;
	struct nsx_err err;
	size_t nwhat_ifs;
	int rc;

	if (options)
		memcpy(&o, options, options->size ? NSX_MIN(options->size, sizeof(o)) : sizeof(o));
	o.threads = NSX_MAX(1, NSX_MIN(o.threads, NSX_MAX_THREADS));
	if (api_check_ids(o.only, &err) || api_check_what_ifs(o.what_if, &nwhat_ifs, &err))
		return nsx_tell_problem(&err, problem);
	r = nsx_alloc(1, sizeof(*r));
	r->threads = o.threads;
	r->engine = (struct nsx_engine){.classes_path = o.kernel_classes, .model_path = o.model,
					.steps_path = o.steps_from};
	opts = (struct nsx_opts){NSX_OPTS_DEFAULT, .path = e->path, .window = o.window,
				 .only = o.only, .what_ifs = o.what_if, .nwhat_ifs = nwhat_ifs,
				 .threads = o.threads};
	rc = nsx_engine_read(&r->engine, &opts, &err) ?:
	     nsx_report_make(&e->schema, &opts, &r->report, &err);
	if (rc) {
		nsx_result_free(r);
		return nsx_tell_problem(&err, problem);
	}
	*ret = r;
	return 0;
}

void nsx_result_free(struct nsx_result *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < NDOCUMENTS; i++)
		free(r->document[i]);
	nsx_report_free(r->report);
	nsx_engine_done(&r->engine);
	free(r);
}

void nsx_stop(void)
{
	nsx_stop_flag = 1;
}

void nsx_resume(void)
{
	nsx_stop_flag = 0;
}

int nsx_result_document(struct nsx_result *r, enum nsx_document which,
			const char **ret, struct nsx_problem *problem)
{
	static int (*const writers[])(const struct nsx_out_file *, FILE *, struct nsx_err *) = {
		[NSX_DOC_BRIEF] = nsx_write_brief, [NSX_DOC_JSON] = nsx_write_json,
		[NSX_DOC_MARKDOWN] = nsx_write_md};
	bool is_of_page = which <= NSX_DOC_BRIEF;
	struct nsx_buf text = {0};
	struct nsx_err err;
	int rc = 0;

	if ((unsigned)which >= NDOCUMENTS)
		rc = nsx_fail(&err, NSX_E_USAGE, "no document %d", (int)which);
	else if (is_of_page && !r->report->page)
		rc = nsx_fail(&err, NSX_E_USAGE, "a report of some analyses has no "
			      "first page; load all of them");
	else if (r->document[which])
		rc = 0;
	else if (which == NSX_DOC_VERDICT)
		nsx_emit_verdict(r->report->page, r->report->arena, &text);
	else if (which == NSX_DOC_PAGE)
		nsx_emit_page(r->report->page, NSX_PAGE_PLAIN, &text);
	else
		rc = nsx_out_string(&(struct nsx_out_file){
				.write = writers[which],
				.subject = is_of_page ? (const void *)r->report->page : r->report},
			&text, &err);
	if (rc)
		nsx_buf_done(&text);
	if (rc)
		return nsx_tell_problem(&err, problem);
	if (text.p)
		r->document[which] = text.p;
	*ret = r->document[which];
	return 0;
}

const char *nsx_result_warning(const struct nsx_result *r, size_t i)
{
	return i < r->report->nwarnings ? r->report->warnings[i] : NULL;
}

const char *nsx_result_section(const struct nsx_result *r, size_t i)
{
	return i < r->report->nsections ? r->report->sections[i].pass->id : NULL;
}

const char *nsx_result_reason(const struct nsx_result *r, const char *section)
{
	const struct nsx_section *s = nsx_report_section(r->report, section);

	if (!s)
		return "";
	if (s->status == NSX_S_ANSWERED)
		return NULL;
	return s->reason ? s->reason : "it was left out";
}

int nsx_result_write(const struct nsx_result *r, const char *dir, struct nsx_problem *problem)
{
	struct nsx_err err;

	return nsx_emit_folder(r->report, dir, true, r->threads, &err) ?
		       nsx_tell_problem(&err, problem) : 0;
}

/* Rows: the public view of a table --------------------------------------------------- */

static const struct nsx_table *api_table_of(const struct nsx_rows *t)
{
	return (const struct nsx_table *)t;
}

static const struct nsx_cell *api_cell_of(const struct nsx_rows *t, size_t row, int c)
{
	return &nsx_row_at(api_table_of(t), row)[c];
}

/* The key of a table's rows; NULL for nested tables and lists that exist only in JSON. */
const char *nsx_rows_key(const struct nsx_rows *t)
{
	const struct nsx_layout *l = api_table_of(t)->layout;

	return l->key && strcmp(l->key, "*") ? l->key : l->csv;
}

const struct nsx_rows *nsx_result_table(const struct nsx_result *r, const char *section, size_t i)
{
	const struct nsx_section *s = nsx_report_section(r->report, section);

	for (size_t k = 0; s && s->status == NSX_S_ANSWERED && k < s->ntables; k++) {
		const struct nsx_rows *t = (const void *)s->tables[k];

		if (nsx_rows_key(t) && !i--)
			return t;
	}
	return NULL;
}

const struct nsx_rows *nsx_result_rows(const struct nsx_result *r,
				       const char *section, const char *key)
{
	const struct nsx_rows *t;

	for (size_t i = 0; (t = nsx_result_table(r, section, i)); i++)
		if (!strcmp(nsx_rows_key(t), key))
			return t;
	return NULL;
}

size_t nsx_rows_count(const struct nsx_rows *t)
{
	return api_table_of(t)->nrows;
}

int nsx_rows_column(const struct nsx_rows *t, const char *name)
{
	return nsx_table_col(api_table_of(t), name);
}

static const struct nsx_col *column_of(const struct nsx_rows *t, int c)
{
	const struct nsx_layout *l = api_table_of(t)->layout;

	return c >= 0 && (unsigned)c < l->ncols ? &l->cols[c] : NULL;
}

const char *nsx_rows_name(const struct nsx_rows *t, int c)
{
	return column_of(t, c) ? column_of(t, c)->key : NULL;
}

const char *nsx_rows_help(const struct nsx_rows *t, int c)
{
	return column_of(t, c) ? column_of(t, c)->help : NULL;
}

enum nsx_cell_type nsx_rows_type(const struct nsx_rows *t, size_t row, int c)
{
	static const enum nsx_cell_type types[] = {
		[NSX_T_NULL] = NSX_CELL_NULL,  [NSX_T_I64] = NSX_CELL_INT,
		[NSX_T_F64] = NSX_CELL_REAL,   [NSX_T_STR] = NSX_CELL_TEXT,
		[NSX_T_BOOL] = NSX_CELL_BOOL,  [NSX_T_LIST] = NSX_CELL_OTHER,
		[NSX_T_TABLE] = NSX_CELL_OTHER};

	return types[api_cell_of(t, row, c)->type];
}

int64_t nsx_rows_int(const struct nsx_rows *t, size_t row, int c)
{
	const struct nsx_cell *x = api_cell_of(t, row, c);

	return x->type == NSX_T_I64 ? x->u.i : 0;
}

double nsx_rows_real(const struct nsx_rows *t, size_t row, int c)
{
	const struct nsx_cell *x = api_cell_of(t, row, c);

	return x->type == NSX_T_F64 ? x->u.f : (double)nsx_rows_int(t, row, c);
}

const char *nsx_rows_text(const struct nsx_rows *t, size_t row, int c)
{
	const struct nsx_cell *x = api_cell_of(t, row, c);

	return x->type == NSX_T_STR ? x->u.s : "";
}

bool nsx_rows_bool(const struct nsx_rows *t, size_t row, int c)
{
	const struct nsx_cell *x = api_cell_of(t, row, c);

	return x->type == NSX_T_BOOL && x->u.b;
}

int nsx_rows_parquet(const struct nsx_rows *rows, const char *path, struct nsx_problem *problem)
{
	struct nsx_out_file f = {.write = nsx_write_parquet, .subject = rows};
	struct nsx_target to = {.path = path, .is_ours = nsx_parquet_is, .fd = -1};
	struct nsx_err err;

	return nsx_target_fill(&to, &f, &err) ? nsx_tell_problem(&err, problem) : 0;
}
