/* notices.c - findings and gates in the formats of CI pipelines.
 *
 * A finding has no source line; formats that need a place get the trace's first line.
 */
#include <ctype.h>
#include "base/jsonw.h"
#include "base/open.h"
#include "emit/notices.h"

static const char tool[] = "nsys-explain";

/* Notices of a report --------------------------------------------------------------- */

static const char *notice_text(const struct nsx_finding *f, struct nsx_arena *a)
{
	struct nsx_buf b = {0};

	for (size_t i = 0; i < ARRAY_LEN(f->evidence) && f->evidence[i]; i++)
		nsx_buf_printf(&b, "%s\n", f->evidence[i]);
	if (f->recommendation[0])
		nsx_buf_printf(&b, "What to do: %s", f->recommendation[0]);
	return nsx_buf_keep(&b, a);
}

void nsx_notices_of_report(const struct nsx_report *r, const enum nsx_severity *least,
			   const struct nsx_notices *gates, struct nsx_arena *a,
			   struct nsx_notices *ret)
{
	*ret = (struct nsx_notices){.suite = "explain", .path = r->path};
	ret->v = nsx_arena_get(a, (r->found.n + gates->n + 1) * sizeof(*ret->v));
	for (size_t i = 0; i < r->found.n; i++) {
		const struct nsx_finding *f = &r->found.v[i];

		if (!f->is_minor)
			ret->v[ret->n++] = (struct nsx_notice){
				nsx_finding_name(f), f->key, f->title,
				notice_text(f, a), f->severity,
				least && f->severity >= *least ? NSX_FAILED : NSX_NOTED};
	}
	for (size_t i = 0; i < gates->n; i++)
		ret->v[ret->n++] = gates->v[i];
}

/* Words ---------------------------------------------------------------------------*/

/* Names of levels in each format, worst first. */
enum level { ERROR, WARNING, NOTE };
static const char *const github[] = {"error", "warning", "notice"};
static const char *const gitlab[] = {"major", "minor", "info"};
static const char *const sarif[] = {"error", "warning", "note"};

static enum level notice_level(const struct nsx_notice *x)
{
	return x->outcome == NSX_FAILED				   ? ERROR :
	       x->outcome == NSX_TOLERATED || x->severity == NSX_SEV_HIGH ? WARNING :
									    NOTE;
}

/* Converts Markdown to plain text. Owner: arena a. */
static const char *notices_plain_text(const char *markdown, struct nsx_arena *a)
{
	struct nsx_buf b = {0};

	nsx_md_add_plain(&b, markdown);
	return nsx_buf_keep(&b, a);
}

/* The title, and on the next lines the text. */
static const char *notices_whole_text(const struct nsx_notice *x, struct nsx_arena *a)
{
	return nsx_arena_printf(a, "%s%s%s", notices_plain_text(x->title, a),
				*x->text ? "\n" : "", notices_plain_text(x->text, a));
}

static const char *notice_hash(const struct nsx_notices *l, const struct nsx_notice *x,
			       struct nsx_arena *a)
{
	const char *s = nsx_arena_printf(a, "%s %s", l->suite, x->key);

	return nsx_arena_printf(a, "%016llx", (unsigned long long)nsx_hash(s, strlen(s)));
}

/* GitHub --------------------------------------------------------------------------*/

static void put_escaped(FILE *out, const char *s, const char *special)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || strchr(special, *s))
			fprintf(out, "%%%02X", (unsigned char)*s);
		else
			putc(*s, out);
}

int nsx_write_github(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_notices *l = f->subject;
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();

	for (size_t i = 0; i < l->n; i++) {
		const char *title = notices_plain_text(l->v[i].title, a);
		const char *text = notices_plain_text(l->v[i].text, a);

		if (l->v[i].outcome == NSX_PASSED)
			continue;
		fprintf(out, "::%s title=", github[notice_level(&l->v[i])]);
		put_escaped(out, title, "%:,");
		fputs("::", out);
		put_escaped(out, *text ? text : title, "%");
		putc('\n', out);
	}
	return nsx_stopped(err);
}

/* GitLab --------------------------------------------------------------------------*/

int nsx_write_gitlab(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_notices *l = f->subject;
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct nsx_jsonw *w = nsx_jsonw_new();

	nsx_jsonw_array(w, NULL);
	for (size_t i = 0; i < l->n; i++) {
		const struct nsx_notice *x = &l->v[i];

		if (x->outcome == NSX_PASSED)
			continue;
		nsx_jsonw_object(w, NULL);
		nsx_jsonw_str(w, "check_name", nsx_arena_printf(a, "%s/%s", tool, x->id));
		nsx_jsonw_str(w, "description", notices_plain_text(x->title, a));
		nsx_jsonw_str(w, "content.body", notices_plain_text(x->text, a));
		nsx_jsonw_str(w, "fingerprint", notice_hash(l, x, a));
		nsx_jsonw_str(w, "severity", gitlab[notice_level(x)]);
		nsx_jsonw_str(w, "location.path", l->path);
		nsx_jsonw_int(w, "location.lines.begin", 1);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
	return nsx_jsonw_finish(w, out, err);
}

/* JUnit ---------------------------------------------------------------------------*/

/* Replaces characters by "?" that XML does not have, or that hide text or turn it round. */
static void put_xml(FILE *out, const char *s)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	size_t n;

	nsx_buf_add_utf8(&b, s, strlen(s));
	for (const char *p = b.p, *end = b.p + b.n; p < end; p += n) {
		const char *entity = *p == '<' ? "&lt;" : *p == '>' ? "&gt;" :
				     *p == '&' ? "&amp;" : *p == '"' ? "&quot;" : NULL;
		uint32_t c = nsx_code_point(p, &n);

		if (entity)
			fputs(entity, out);
		else if (c != '\n' && c != '\t' && (nsx_is_unsafe(c) || c == 0xfffe || c == 0xffff))
			putc('?', out);
		else
			fwrite(p, 1, n, out);
	}
}

static size_t notices_count(const struct nsx_notices *l, enum nsx_outcome outcome)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->v[i].outcome == outcome;
	return n;
}

static void put_test_case(const struct nsx_notice *x, FILE *out)
{
	static const char *const open[] = {
		[NSX_PASSED] = "<system-out>", [NSX_NOTED] = "<system-out>",
		[NSX_TOLERATED] = "<skipped>", [NSX_FAILED] = "<failure>"};
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();

	fprintf(out, "    <testcase classname=\"%s.%s\" name=\"", tool, x->id);
	put_xml(out, x->key);
	fprintf(out, "\">\n      %s", open[x->outcome]);
	put_xml(out, notices_whole_text(x, a));
	fprintf(out, "</%s\n    </testcase>\n", open[x->outcome] + 1);
}

int nsx_write_junit(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_notices *l = f->subject;

	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites name=\"%s\">\n  <testsuite name=\"%s ", tool, l->suite);
	put_xml(out, l->path);
	fprintf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n",
		l->n, notices_count(l, NSX_FAILED), notices_count(l, NSX_TOLERATED));
	for (size_t i = 0; i < l->n; i++)
		put_test_case(&l->v[i], out);
	fputs("  </testsuite>\n</testsuites>\n", out);
	return nsx_stopped(err);
}

/* SARIF ---------------------------------------------------------------------------*/

static const char *uri_of(const char *path, struct nsx_arena *a)
{
	struct nsx_buf b = {0};

	nsx_buf_adds(&b, *path == '/' ? "file://" : "");
	for (; *path; path++)
		nsx_buf_printf(&b, isalnum((unsigned char)*path) || strchr("/-._~", *path) ?
				       "%c" : "%%%02X", (unsigned char)*path);
	return nsx_buf_keep(&b, a);
}

static void add_rules(struct nsx_jsonw *w, const struct nsx_notices *l)
{
	nsx_jsonw_array(w, "rules");
	for (size_t i = 0; i < l->n; i++) {
		bool is_new = l->v[i].outcome != NSX_PASSED;

		for (size_t k = 0; k < i && is_new; k++)
			is_new = l->v[k].outcome == NSX_PASSED ||
				 strcmp(l->v[k].id, l->v[i].id) != 0;
		if (!is_new)
			continue;
		nsx_jsonw_object(w, NULL);
		nsx_jsonw_str(w, "id", l->v[i].id);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
}

static void add_result(struct nsx_jsonw *w, const struct nsx_notices *l,
		       const struct nsx_notice *x, struct nsx_arena *a)
{
	nsx_jsonw_object(w, NULL);
	nsx_jsonw_str(w, "ruleId", x->id);
	nsx_jsonw_str(w, "level", sarif[notice_level(x)]);
	nsx_jsonw_str(w, "message.text", notices_whole_text(x, a));
	nsx_jsonw_array(w, "locations");
	nsx_jsonw_object(w, NULL);
	nsx_jsonw_str(w, "physicalLocation.artifactLocation.uri", uri_of(l->path, a));
	nsx_jsonw_int(w, "physicalLocation.region.startLine", 1);
	nsx_jsonw_end(w);
	nsx_jsonw_end(w);
	nsx_jsonw_str(w, "partialFingerprints.key/v1", notice_hash(l, x, a));
	nsx_jsonw_end(w);
}

int nsx_write_sarif(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_notices *l = f->subject;
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct nsx_jsonw *w = nsx_jsonw_new();

	nsx_jsonw_object(w, NULL);
	nsx_jsonw_str(w, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	nsx_jsonw_str(w, "version", "2.1.0");
	nsx_jsonw_array(w, "runs");
	nsx_jsonw_object(w, NULL);
	nsx_jsonw_object(w, "tool.driver");
	nsx_jsonw_str(w, "name", tool);
	nsx_jsonw_str(w, "version", NSX_VERSION);
	add_rules(w, l);
	nsx_jsonw_end(w);
	nsx_jsonw_array(w, "results");
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].outcome != NSX_PASSED)
			add_result(w, l, &l->v[i], a);
	nsx_jsonw_end(w);
	nsx_jsonw_end(w);
	nsx_jsonw_end(w);
	nsx_jsonw_end(w);
	return nsx_jsonw_finish(w, out, err);
}

/* Whether a file holds such notices: all these formats name the tool early, except an empty list.
 */
bool nsx_notices_is(const char *path)
{
	char begin[512];

	return nsx_read_head(path, begin, sizeof(begin)) &&
	       (strstr(begin, tool) || !strcmp(begin, "[]\n"));
}
