/* json.c - the report as one JSON document.
 *
 * Tables hold their top rows only (nsx_layout.json_rows), so the document is small for any
 * trace. Keys with dots become nested objects. Reals have 15 significant digits, which read
 * back as the number that was meant; CSV has the shortest form that reads back every bit.
 */
#include <math.h>
#include "emit/emit.h"
#include "base/jsonw.h"
#include "passes/pass.h"
#include "schema/script.h"

static void write_strings(struct nsx_jsonw *w, const char *key,
			  const char *first, const char *const *v, size_t n)
{
	nsx_jsonw_array(w, key);
	if (first)
		nsx_jsonw_str(w, NULL, first);
	for (size_t i = 0; i < n; i++)
		nsx_jsonw_str(w, NULL, v[i]);
	nsx_jsonw_end(w);
}

void nsx_json_add_cell(struct nsx_jsonw *w, const char *key, struct nsx_cell c)
{
	size_t n = 0;

	switch (c.type) {
	case NSX_T_I64:
		nsx_jsonw_int(w, key, c.u.i);
		break;
	case NSX_T_F64:
		/* With 15 digits, a number near the limit of double may round to infinity. */
		if (fabs(c.u.f) < 1e308)
			nsx_jsonw_real(w, key, c.u.f);
		else
			nsx_jsonw_null(w, key);
		break;
	case NSX_T_STR:
		nsx_jsonw_str(w, key, c.u.s);
		break;
	case NSX_T_BOOL:
		nsx_jsonw_bool(w, key, c.u.b);
		break;
	case NSX_T_LIST:
		while (c.u.list && c.u.list[n])
			n++;
		write_strings(w, key, NULL, c.u.list, n);
		break;
	case NSX_T_TABLE:
		nsx_json_add_table(w, key, c.u.table);
		break;
	default:
		nsx_jsonw_null(w, key);
	}
}

void nsx_json_add_table(struct nsx_jsonw *w, const char *key, const struct nsx_table *t)
{
	int most = !t		       ? 0 :
		   t->json_rows	       ? t->json_rows :
		   t->layout->json_rows ? t->layout->json_rows :
					  NSX_MAX_JSON_ROWS;
	size_t n = !t ? 0 : most < 0 ? t->nrows : NSX_MIN(t->nrows, (size_t)most);

	nsx_jsonw_array(w, key);
	for (size_t r = 0; r < n; r++) {
		if (!strcmp(t->layout->cols[0].key, "*")) {
			nsx_json_add_cell(w, NULL, *nsx_row_at(t, r));
			continue;
		}
		nsx_jsonw_object(w, NULL);
		for (unsigned c = 0; c < t->layout->ncols; c++)
			nsx_json_add_cell(w, t->layout->cols[c].key, nsx_row_at(t, r)[c]);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
}

/* Adds the section's queries. None are added if the section was not computed, or for a part of a
 * trace (scripts NULL), because queries read the whole trace.
 */
static void write_queries(struct nsx_jsonw *w, const struct nsx_section *s,
			  const struct nsx_scripts *scripts)
{
	const struct nsx_query *q;

	nsx_jsonw_object(w, "sql");
	for (unsigned i = 0; s->status == NSX_S_ANSWERED && scripts && !s->sql_differs &&
			     (q = nsx_pass_query(s->pass, i));
	     i++) {
		NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

		nsx_scripts_add(scripts, &q, 1, &b);
		nsx_jsonw_strn(w, q->name, b.p, b.n);
	}
	nsx_jsonw_end(w);
}

static void write_content(struct nsx_jsonw *w, const struct nsx_section *s)
{
	for (size_t i = 0; i < s->nvalues; i++)
		nsx_json_add_cell(w, s->values[i].key, s->values[i].cell);
	for (size_t i = 0; i < s->ntables; i++) {
		const struct nsx_layout *l = s->tables[i]->layout;

		if (l->key && l->json_rows != NSX_NOT_IN_JSON)
			nsx_json_add_table(w, l->key, s->tables[i]);
	}
}

static void write_whole(struct nsx_jsonw *w, const struct nsx_section *s,
			const struct nsx_scripts *scripts)
{
	nsx_jsonw_bool(w, "present", s->status == NSX_S_ANSWERED);
	if (s->status != NSX_S_ANSWERED)
		nsx_jsonw_str(w, "reason", s->reason ? s->reason : "");
	write_content(w, s);
	write_strings(w, "notes", s->status == NSX_S_ANSWERED ?
		      s->pass->caveat : NULL, s->notes, s->nnotes);
	write_queries(w, s, scripts);
}

static void write_section(struct nsx_jsonw *w, const struct nsx_section *s,
			  const struct nsx_scripts *scripts)
{
	const char *key = s->pass->json ? s->pass->json : s->pass->id;
	/* the value of a section that is a bare value */
	const struct nsx_cell *value = nsx_section_value(s, "*");
	const struct nsx_table *rows;

	if (s->status == NSX_S_SKIPPED)
		return;
	if (s->status == NSX_S_NULL) {
		nsx_jsonw_null(w, key);
	} else if (value) {
		nsx_json_add_cell(w, key, *value);
	} else if ((rows = nsx_section_table(s, "*"))) {
		nsx_json_add_table(w, key, rows);
	} else {
		nsx_jsonw_object(w, key);
		if (s->pass->is_top)
			write_content(w, s);
		else
			write_whole(w, s, scripts);
		nsx_jsonw_end(w);
	}
}

/* Writes the sections. A section that lies inside another one comes after it. */
static void write_sections(struct nsx_jsonw *w, const struct nsx_report *r,
			   const struct nsx_scripts *scripts, bool top)
{
	for (unsigned inner = 0; inner < 2; inner++)
		for (size_t i = 0; i < r->nsections; i++) {
			const struct nsx_pass *p = r->sections[i].pass;

			if (inner == (p->json != NULL) && p->is_top == top)
				write_section(w, &r->sections[i], scripts);
		}
}

static int finish_document(struct nsx_jsonw *w, FILE *out, struct nsx_err *err)
{
	nsx_jsonw_end(w);
	return nsx_jsonw_finish(w, out, err);
}

static struct nsx_jsonw *json_document(void)
{
	struct nsx_jsonw *w = nsx_jsonw_new();

	nsx_jsonw_object(w, NULL);
	return w;
}

struct nsx_jsonw *nsx_json_document(int version, const char *generated_at)
{
	struct nsx_jsonw *w = json_document();

	if (version)
		nsx_jsonw_int(w, "schema_version", version);
	nsx_jsonw_str(w, "tool.name", "nsys-explain");
	nsx_jsonw_str(w, "tool.version", NSX_VERSION);
	if (generated_at)
		nsx_jsonw_str(w, "generated_at", generated_at);
	return w;
}

int nsx_write_json(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_report *r = f->subject;
	const struct nsx_trace *t = r->trace;
	bool whole = !nsx_has_window(t);
	struct nsx_scripts *scripts = whole ? nsx_scripts_new(t->schema) : NULL;
	struct nsx_jsonw *w = nsx_json_document(1, r->generated_at);

	nsx_jsonw_str(w, "trace.path", r->path);
	write_strings(w, "warnings", NULL, r->warnings, r->nwarnings);
	write_sections(w, r, scripts, true);
	nsx_jsonw_object(w, "metrics");
	write_sections(w, r, scripts, false);
	nsx_jsonw_end(w);
	nsx_scripts_free(scripts);
	return finish_document(w, out, err);
}

int nsx_emit_json_section(const struct nsx_section *s, FILE *out, struct nsx_err *err)
{
	struct nsx_jsonw *w = json_document();

	write_content(w, s);
	return finish_document(w, out, err);
}

int nsx_emit_json_error(const struct nsx_err *e, FILE *out, struct nsx_err *err)
{
	static const char *const codes[] = {
		[-NSX_E_IO] = "io", [-NSX_E_DB] = "db",
		[-NSX_E_SCHEMA] = "not_an_export", [-NSX_E_DATA] = "damaged",
		[-NSX_E_NOMEM] = "no_memory", [-NSX_E_STOP] = "interrupted",
		[-NSX_E_USAGE] = "usage", [-NSX_E_DENIED] = "denied",
		[-NSX_E_NAME] = "no_such_name", [-NSX_E_SLOW] = "too_slow",
		[-NSX_E_CLOSED] = "io"};
	struct nsx_jsonw *w = json_document();

	nsx_jsonw_str(w, "error.code", codes[-e->rc]);
	nsx_jsonw_str(w, "error.message", e->msg);
	return finish_document(w, out, err);
}
