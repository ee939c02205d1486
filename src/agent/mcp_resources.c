/* mcp_resources.c - reports of the traces in memory, as files would have them. */
#include <stdlib.h>
#include <string.h>
#include "agent/mcp.h"
#include "agent/reply.h"
#include "emit/emit.h"

enum { PIECE = 1 << 20 }; /* bytes of a resource that are read at a time      */

static const char scheme[] = "nsys://";

static const struct {
	const char *name, *type, *text;
} files[] = {
	{"report.md", "text/markdown", "the whole report"},
	{"report.json", "application/json", "all figures of it"},
	{"tables/{name}.csv", "text/csv", "all rows of a table; names are in report.json"},
};

void nsx_mcp_list_resources(const struct nsx_cache *c, struct nsx_jsonw *w)
{
	nsx_jsonw_array(w, "resources");
	for (size_t i = 0; i < c->n; i++)
		for (unsigned k = 0; k < 2; k++) {
			struct nsx_buf b = {0};
			const char *name = strrchr(c->v[i]->path, '/') + 1;

			nsx_jsonw_object(w, NULL);
			nsx_buf_printf(&b, "%s%s/%s", scheme, c->v[i]->id,
				       files[k].name);
			nsx_jsonw_str(w, "uri", b.p);
			nsx_buf_clear(&b);
			nsx_reply_text(&b, name, NSX_REPLY_FULL_CELL);
			nsx_buf_printf(&b, ": %s", files[k].name);
			nsx_jsonw_str(w, "name", b.p);
			nsx_jsonw_str(w, "mimeType", files[k].type);
			nsx_jsonw_end(w);
			nsx_buf_done(&b);
		}
	nsx_jsonw_end(w);
}

void nsx_mcp_list_templates(struct nsx_jsonw *w)
{
	nsx_jsonw_array(w, "resourceTemplates");
	for (unsigned k = 0; k < ARRAY_LEN(files); k++) {
		struct nsx_buf b = {0};

		nsx_jsonw_object(w, NULL);
		nsx_buf_printf(&b, "%s{trace_id}/%s{?offset}", scheme,
			       files[k].name);
		nsx_jsonw_str(w, "uriTemplate", b.p);
		nsx_jsonw_str(w, "name", files[k].name);
		nsx_jsonw_str(w, "description", files[k].text);
		nsx_jsonw_str(w, "mimeType", files[k].type);
		nsx_jsonw_end(w);
		nsx_buf_done(&b);
	}
	nsx_jsonw_end(w);
}

/* The file of the report at this address; -1: there is none. */
static int find_kind(const struct nsx_report *r, const char *file, size_t n,
		     const struct nsx_table **ret_table)
{
	static const char before[] = "tables/", after[] = ".csv";
	size_t b = strlen(before), a = strlen(after);

	for (int k = 0; k < 2; k++)
		if (strlen(files[k].name) == n &&
		    !strncmp(files[k].name, file, n))
			return k;
	if (n <= a + b || strncmp(file, before, b) != 0 ||
	    strncmp(file + n - a, after, a) != 0)
		return -1;
	*ret_table = nsx_report_table(r, file + b, n - a - b);
	return *ret_table ? 2 : -1;
}

/* A piece from offset on that ends with a whole character. */
static void put_piece(struct nsx_jsonw *w, const char *text, size_t n,
		      size_t offset)
{
	size_t end = NSX_MIN(n, offset + PIECE);

	while (offset < n && ((unsigned char)text[offset] & 0xc0) == 0x80)
		offset++;
	if (end > offset)
		end = offset + nsx_cut_chars(text + offset, end - offset);
	nsx_jsonw_strn(w, "text", text + NSX_MIN(offset, end),
		       end - NSX_MIN(offset, end));
	if (end < n) {
		nsx_jsonw_int(w, "_meta.nsys-explain/nextOffset", (int64_t)end);
		nsx_jsonw_int(w, "_meta.nsys-explain/size", (int64_t)n);
	}
}

static int read_file(const struct nsx_loaded *l, int kind,
		     const struct nsx_table *t, const char *uri, size_t offset,
		     struct nsx_jsonw *w, struct nsx_err *err)
{
	const struct nsx_bound bound = {.max_rows = NSX_MAX_CSV_ROWS};
	const struct nsx_out_file whole = {
		.write = kind ? nsx_write_json : nsx_write_md,
		.subject = l->report};
	const struct nsx_out_file table = {
		.write = nsx_write_table, .subject = t, .detail = &bound};
	char *text = NULL;
	size_t n = 0;
	int rc = nsx_out_string(kind == 2 ? &table : &whole, &text, &n, err);

	if (!rc) {
		nsx_jsonw_array(w, "contents");
		nsx_jsonw_object(w, NULL);
		nsx_jsonw_str(w, "uri", uri);
		nsx_jsonw_str(w, "mimeType", files[kind].type);
		put_piece(w, text, n, offset);
		nsx_jsonw_end(w);
		nsx_jsonw_end(w);
	}
	free(text);
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
	size_t offset = 0;
	int kind = -1;

	if (!strncmp(uri, scheme, skip) && strlen(uri) > skip + id &&
	    uri[skip + id] == '/') {
		snprintf(name, sizeof(name), "%s", uri + skip);
		l = nsx_cache_find(c, name);
	}
	if (!l)
		return nsx_fail(err, NSX_E_USAGE, "no trace of this address is "
				"in memory: call nsys_explain first");
	file = uri + skip + id + 1;
	n = strcspn(file, "?");
	query = file + n;
	if (!strncmp(query, "?offset=", 8))
		offset = strtoul(query + 8, NULL, 10);
	kind = find_kind(l->report, file, n, &t);
	return kind < 0 ? nsx_fail(err, NSX_E_USAGE, "the report has no such "
				   "file: see resources/templates/list") :
			  read_file(l, kind, t, uri, offset, w, err);
}
