/* json.c - the only jansson user: the report as one value, dumped once; and
 * reading of phase maps.
 *
 * Tables hold their top rows only (nsx_layout.json_rows), so the value stays
 * small however large the trace.  Keys with dots become nested objects.
 * Reals print with 15 significant digits, which reads back the number that was
 * meant; CSV has the shortest form that reads back every bit.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "emit/jsonread.h"
#include "nsx/emit.h"
#include "nsx/pass.h"

#define FLAGS                                                                 \
	(JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15) |        \
	 JSON_PRESERVE_ORDER)

static json_t *must(json_t *v)
{
	if (!v)
		abort(); /* small, finite and valid UTF-8: only memory is left */
	return v;
}

/* Appends the first part of a dotted key ("\\." is a dot of the name itself).
 * Returns what follows its dot; NULL: it was the last.
 */
static const char *take_part(const char *key, struct nsx_buf *b)
{
	for (; *key && *key != '.'; key++) {
		key += *key == '\\' && key[1];
		nsx_buf_add(b, key, 1);
	}
	return *key ? key + 1 : NULL;
}

static void set(json_t *at, const char *key, json_t *value)
{
	struct nsx_buf b = {0};

	nsx_buf_adds(&b, "");
	while ((key = take_part(key, &b))) {
		json_t *next = json_object_get(at, b.p);

		if (!json_is_object(next)) {
			next = must(json_object());
			json_object_set_new(at, b.p, next);
		}
		at = next;
		nsx_buf_clear(&b);
	}
	json_object_set_new(at, b.p, must(value));
	nsx_buf_done(&b);
}

static json_t *text(const char *s)
{
	struct nsx_buf b = {0};
	json_t *v;

	nsx_buf_add_utf8(&b, s, strlen(s));
	v = json_string_nocheck(b.p ? b.p : "");
	nsx_buf_done(&b);
	return must(v);
}

static json_t *list_value(const char *const *list)
{
	json_t *a = must(json_array());

	for (; list && *list; list++)
		json_array_append_new(a, text(*list));
	return a;
}

static json_t *table_value(const struct nsx_table *t);

static json_t *cell_value(const struct nsx_cell *c)
{
	switch (c->type) {
	case NSX_T_I64:
		return json_integer(c->u.i);
	case NSX_T_F64:
		/* Near the end of the range 15 digits may round to infinity. */
		return fabs(c->u.f) < 1e308 ? json_real(c->u.f) : json_null();
	case NSX_T_STR:
		return text(c->u.s);
	case NSX_T_BOOL:
		return json_boolean(c->u.b);
	case NSX_T_LIST:
		return list_value(c->u.list);
	case NSX_T_TABLE:
		return c->u.table ? table_value(c->u.table) :
				    must(json_array());
	default:
		return json_null();
	}
}

static json_t *table_value(const struct nsx_table *t)
{
	int most = t->layout->json_rows ? t->layout->json_rows :
					  NSX_MAX_JSON_ROWS;
	size_t n = most < 0 ? t->nrows : NSX_MIN(t->nrows, (size_t)most);
	json_t *rows = must(json_array());

	for (size_t r = 0; r < n; r++) {
		json_t *row = must(json_object());

		for (unsigned c = 0; c < t->layout->ncols; c++)
			set(row, t->layout->cols[c].key,
			    cell_value(&nsx_row_at(t, r)[c]));
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *strings(const char *const *v, size_t n)
{
	json_t *a = must(json_array());

	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, text(v[i]));
	return a;
}

/* The section's queries as scripts that run without this program.  None for
 * what was not computed, and none for a part of the trace: they speak of all.
 */
static json_t *queries(const struct nsx_section *s, const struct nsx_trace *t)
{
	json_t *o = must(json_object());
	const struct nsx_query *q;
	struct nsx_err err;

	if (s->status != NSX_S_ANSWERED || t->user.start_ns != t->user.end_ns)
		return o;
	for (unsigned i = 0; (q = nsx_pass_query(s->pass, i)); i++) {
		struct nsx_buf b = {0};

		if (!nsx_schema_query_sql(t->schema, q->text, &b, &err))
			set(o, q->name, text(b.p));
		nsx_buf_done(&b);
	}
	return o;
}

static void add_content(json_t *o, const struct nsx_section *s)
{
	for (size_t i = 0; i < s->nvalues; i++)
		set(o, s->values[i].key, cell_value(&s->values[i].cell));
	for (size_t i = 0; i < s->ntables; i++) {
		const struct nsx_layout *l = s->tables[i]->layout;

		if (l->key && l->json_rows != -2)
			set(o, l->key, table_value(s->tables[i]));
	}
}

static json_t *plain_value(const struct nsx_section *s)
{
	json_t *o = must(json_object());

	add_content(o, s);
	return o;
}

static json_t *section_value(const struct nsx_section *s,
			     const struct nsx_trace *t)
{
	json_t *o = must(json_object());

	set(o, "present", json_boolean(s->status == NSX_S_ANSWERED));
	if (s->status != NSX_S_ANSWERED)
		set(o, "reason", text(s->reason ? s->reason : ""));
	add_content(o, s);
	set(o, "notes", strings(s->notes, s->nnotes));
	set(o, "sql", queries(s, t));
	return o;
}

/* A section whose contract key is no object puts its one value under its own
 * id with this key.
 */
static const struct nsx_cell *bare_value(const struct nsx_section *s)
{
	return nsx_section_value(s, "*");
}

/* Sections that stand at the top level, not in metrics: plain objects. */
static bool is_top(const char *id)
{
	static const char *const top[] = {"input", "schema", "windows",
					  "findings"};

	for (size_t i = 0; i < ARRAY_LEN(top); i++)
		if (!strcmp(top[i], id))
			return true;
	return false;
}

static void add_section(json_t *root, json_t *metrics,
			const struct nsx_section *s,
			const struct nsx_trace *t)
{
	bool top = is_top(s->pass->id);
	json_t *at = top ? root : metrics;
	const char *key = s->pass->json ? s->pass->json : s->pass->id;
	const struct nsx_table *rows;

	if (s->status == NSX_S_SKIPPED)
		return;
	if (s->status == NSX_S_NULL)
		set(at, key, json_null());
	else if (bare_value(s))
		set(at, key, cell_value(bare_value(s)));
	else if ((rows = nsx_section_table(s, "*")))
		set(at, key, table_value(rows));
	else
		set(at, key, top ? plain_value(s) : section_value(s, t));
}

static json_t *report_value(const struct nsx_report *r)
{
	json_t *root = must(json_object()), *metrics = must(json_object());

	set(root, "schema_version", json_integer(1));
	set(root, "tool.name", text("nsys-explain"));
	set(root, "tool.version", text(NSX_VERSION));
	set(root, "generated_at", text(r->generated_at));
	set(root, "trace.path", text(r->path));
	set(root, "warnings", strings(r->warnings, r->nwarnings));
	/* Sections inside others come after those they are in. */
	for (unsigned inner = 0; inner < 2; inner++)
		for (size_t i = 0; i < r->nsections; i++)
			if (inner == (r->sections[i].pass->json != NULL))
				add_section(root, metrics, &r->sections[i],
					    r->trace);
	json_object_set_new(root, "metrics", metrics);
	return root;
}

static int dump(json_t *root, FILE *out, struct nsx_err *err)
{
	int rc = json_dumpf(root, out, FLAGS);

	json_decref(root);
	if (rc || putc('\n', out) == EOF)
		return nsx_fail(err, NSX_E_IO, "cannot write JSON: %s",
				strerror(errno));
	return 0;
}

int nsx_emit_json(const struct nsx_report *r, FILE *out, struct nsx_err *err)
{
	return dump(report_value(r), out, err);
}

int nsx_emit_json_section(const struct nsx_section *s, FILE *out,
			  struct nsx_err *err)
{
	return dump(plain_value(s), out, err);
}

int nsx_emit_json_error(const struct nsx_err *e, FILE *out,
			struct nsx_err *err)
{
	static const char *const codes[] = {"ok", "io", "db", "not_an_export",
					    "damaged", "no_memory",
					    "interrupted", "usage"};
	json_t *root = must(json_object());

	set(root, "error.code", text(codes[-e->rc]));
	set(root, "error.message", text(e->msg));
	return dump(root, out, err);
}

/* Reading ---------------------------------------------------------------------*/

static int read_strings(const char *key, json_t *list, const char *path,
			nsx_json_string_fn fn, void *ctx, struct nsx_err *err)
{
	size_t i;
	json_t *v;
	int rc = json_array_size(list) ? 0 : fn(ctx, key, NULL, 0, err);

	json_array_foreach(list, i, v) {
		if (!rc && !json_is_string(v))
			return nsx_fail(err, NSX_E_USAGE,
					"cannot use '%s': entry %zu of '%s' is "
					"not a string", path, i + 1, key);
		if (!rc)
			rc = fn(ctx, key, json_string_value(v), i, err);
	}
	return rc;
}

static int read_object(json_t *root, const char *path, nsx_json_string_fn fn,
		       void *ctx, struct nsx_err *err)
{
	const char *key;
	json_t *v;
	int rc = 0;

	if (!json_is_object(root))
		return nsx_fail(err, NSX_E_USAGE, "cannot use '%s': it is not "
				"a JSON object {name: [text, ...], ...}", path);
	json_object_foreach(root, key, v) {
		if (!rc && json_is_string(v))
			rc = fn(ctx, key, json_string_value(v), 0, err);
		else if (!rc && json_is_array(v))
			rc = read_strings(key, v, path, fn, ctx, err);
		else if (!rc)
			rc = nsx_fail(err, NSX_E_USAGE,
				      "cannot use '%s': '%s' is neither a "
				      "string nor a list of strings", path,
				      key);
	}
	return rc;
}

int nsx_json_each_string(const char *json, size_t n, const char *path,
			 nsx_json_string_fn fn, void *ctx, struct nsx_err *err)
{
	json_error_t e;
	json_t *root = json_loadb(json, n, JSON_REJECT_DUPLICATES |
						   JSON_DECODE_ANY, &e);
	int rc;

	if (!root)
		return nsx_fail(err, NSX_E_USAGE,
				"cannot read '%s' as JSON: line %d, column %d: "
				"%s", path, e.line, e.column, e.text);
	rc = read_object(root, path, fn, ctx, err);
	json_decref(root);
	return rc;
}
