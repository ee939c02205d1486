/* mcp_resources.c - reports of traces in memory, as the files that they would be written to. */
#include "agent/mcp.h"
#include "agent/reply.h"
#include "emit/emit.h"

enum { PIECE = 1 << 20 }; /* limit of a resource's bytes in one read         */

static const char scheme[] = "nsys://";

static const struct {
	const char *name, *type, *text;
} files[] = {
	{"report.md", "text/markdown", "the whole report"},
	{"report.json", "application/json", "all figures of the report"},
	{"tables/{name}.csv", "text/csv", "all rows of a table; table names are in report.json"},
	{"findings/{number}.md", "text/markdown", "a finding with its evidence and instances"},
};
enum { TABLE = 2, FINDING = 3 };

static void list_one_resource(struct nsx_jsonw *w, const struct nsx_loaded *l,
			      const char *file, const char *what, const char *type)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf uri = {0}, name = {0};

	nsx_buf_printf(&uri, "%s%s/%s", scheme, l->id, file);
	nsx_reply_text(&name, strrchr(l->path, '/') + 1, NSX_REPLY_FULL_CELL);
	nsx_buf_adds(&name, ": ");
	nsx_reply_text(&name, what, NSX_REPLY_FULL_CELL);
	nsx_jsonw_object(w, NULL);
	nsx_jsonw_str(w, "uri", uri.p);
	nsx_jsonw_str(w, "name", name.p);
	nsx_jsonw_str(w, "mimeType", type);
	nsx_jsonw_end(w);
}

void nsx_mcp_list_resources(const struct nsx_cache *c, struct nsx_jsonw *w)
{
	nsx_jsonw_array(w, "resources");
	for (size_t i = 0; i < c->n; i++) {
		const struct nsx_findings *found = &c->v[i]->report->found;

		for (unsigned k = 0; k < TABLE; k++)
			list_one_resource(w, c->v[i], files[k].name, files[k].name, files[k].type);
		for (size_t k = 0; k < NSX_MIN(found->n, (size_t)NSX_MAX_FINDINGS); k++) {
			char file[40];

			snprintf(file, sizeof(file), "findings/%zu.md", k + 1);
			list_one_resource(w, c->v[i], file, found->v[k].title, files[FINDING].type);
		}
	}
	nsx_jsonw_end(w);
}

void nsx_mcp_list_templates(struct nsx_jsonw *w)
{
	nsx_jsonw_array(w, "resourceTemplates");
	for (unsigned k = 0; k < ARRAY_LEN(files); k++) {
		NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

		nsx_jsonw_object(w, NULL);
		nsx_buf_printf(&b, "%s{trace_id}/%s{?offset}", scheme, files[k].name);
		nsx_jsonw_str(w, "uriTemplate", b.p);
		nsx_jsonw_str(w, "name", files[k].name);
		nsx_jsonw_str(w, "description", files[k].text);
		nsx_jsonw_str(w, "mimeType", files[k].type);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
}

/* The kind of file at an address of n characters, and its table or the number of its finding; -1:
 * there is no such file.
 */
static int find_kind(const struct nsx_report *r, const char *file, size_t n,
		     const struct nsx_table **ret_table, size_t *ret_finding)
{
	static const char in[] = "tables/", suffix[] = ".csv";
	size_t before = strlen(in), after = strlen(suffix);
	int end = 0;

	for (int k = 0; k < TABLE; k++)
		if (strlen(files[k].name) == n && !strncmp(files[k].name, file, n))
			return k;
	if (sscanf(file, "findings/%zu.md%n", ret_finding, &end) == 1 && end == (int)n)
		return *ret_finding - 1 < r->found.n ? FINDING : -1;
	if (n <= before + after || strncmp(file, in, before) != 0 ||
	    strncmp(file + n - after, suffix, after) != 0)
		return -1;
	*ret_table = nsx_report_table(r, file + before, n - before - after);
	return *ret_table ? TABLE : -1;
}

/* Writes the piece from an offset on, cut at the end of a character. */
static void put_piece(struct nsx_jsonw *w, const char *text, size_t n, size_t offset)
{
	size_t end = NSX_MIN(n, offset + PIECE);

	while (offset < n && ((unsigned char)text[offset] & 0xc0) == 0x80)
		offset++;
	if (end > offset)
		end = offset + nsx_cut_chars(text + offset, end - offset);
	nsx_jsonw_strn(w, "text", text + NSX_MIN(offset, end), end - NSX_MIN(offset, end));
	if (end < n) {
		nsx_jsonw_int(w, "_meta.nsys-explain/nextOffset", (int64_t)end);
		nsx_jsonw_int(w, "_meta.nsys-explain/size", (int64_t)n);
	}
}

/* Writes a finding as the answer to the question about it. */
static int write_finding(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_loaded *l = f->subject;
	const size_t *number = f->detail;
	struct nsx_subject s = l->subject;
	struct nsx_answer *a = NULL;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	char text[24];

	snprintf(text, sizeof(text), "%zu", *number);
	if (nsx_ask(&s, &nsx_questions[NSX_Q_finding], text, NSX_REPLY_ROWS, &a, err))
		return err->rc;
	nsx_emit_md_section(a->out, &b);
	fwrite(b.p, 1, b.n, out);
	nsx_answer_free(a);
	return 0;
}

static int mcp_resources_read_file(const struct nsx_loaded *l, int kind,
				   const struct nsx_table *t, size_t number, const char *uri,
				   size_t offset, struct nsx_jsonw *w, struct nsx_err *err)
{
	const struct nsx_bound bound = {.max_rows = NSX_MAX_CSV_ROWS};
	const struct nsx_out_file as[] = {
		{.write = nsx_write_md, .subject = l->report},
		{.write = nsx_write_json, .subject = l->report},
		{.write = nsx_write_table, .subject = t, .detail = &bound},
		{.write = write_finding, .subject = l, .detail = &number}};
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf text = {0};
	int rc = nsx_out_string(&as[kind], &text, err);

	if (!rc) {
		nsx_jsonw_array(w, "contents");
		nsx_jsonw_object(w, NULL);
		nsx_jsonw_str(w, "uri", uri);
		nsx_jsonw_str(w, "mimeType", files[kind].type);
		put_piece(w, text.p, text.n, offset);
		nsx_jsonw_end(w);
		nsx_jsonw_end(w);
	}
	return rc;
}

int nsx_mcp_read_resource(const struct nsx_cache *c, const char *uri,
			  struct nsx_jsonw *w, struct nsx_err *err)
{
	size_t skip = strlen(scheme), id = NSX_TRACE_ID - 1, n;
	const struct nsx_loaded *l = NULL;
	const struct nsx_table *t = NULL;
	const char *file, *query;
	char name[NSX_TRACE_ID];
	size_t offset = 0, number = 0;
	int kind = -1;

	if (!strncmp(uri, scheme, skip) && strlen(uri) > skip + id && uri[skip + id] == '/') {
		snprintf(name, sizeof(name), "%s", uri + skip);
		l = nsx_cache_find(c, name);
	}
	if (!l)
		return nsx_fail(err, NSX_E_USAGE, "no trace with this address is in memory: call "
				"nsys_explain first");
	file = uri + skip + id + 1;
	n = strcspn(file, "?");
	query = file + n;
	if (!strncmp(query, "?offset=", 8))
		offset = strtoul(query + 8, NULL, 10);
	kind = find_kind(l->report, file, n, &t, &number);
	return kind < 0 ? nsx_fail(err, NSX_E_USAGE, "the report has no such "
				   "file: see resources/templates/list") :
			  mcp_resources_read_file(l, kind, t, number, uri, offset, w, err);
}
