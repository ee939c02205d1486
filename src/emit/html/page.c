/* page.c - the report as one HTML page, complete without its script. */
#include <stdio.h>
#include "base/open.h"
#include "emit/emit.h"
#include "emit/html/html.h"

/* Room for events on a page. An event takes 4.2 characters or fewer (1.6 to 3.1 bytes in base64,
 * measured on four captures), so that a page is seldom laid out twice.
 */
enum { PAGE_REST = 3 << 20, EVENT_CHARS = 5 };

static const char begin[] = "<!doctype html>\n<html lang=\"en\">\n<head>\n"
	"<meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri "
	"'none'; form-action 'none'; img-src data:; ";

bool nsx_html_is(const char *path)
{
	char head[sizeof(begin)];

	return nsx_read_head(path, head, sizeof(head)) && !strcmp(head, begin);
}

void nsx_html_head(struct nsx_buf *b, const char *title, bool has_script)
{
	nsx_buf_adds(b, begin);
	nsx_buf_printf(b, "style-src 'sha256-%s'", nsx_page_css_sha256);
	if (has_script)
		nsx_buf_printf(b, "; script-src 'sha256-%s'", nsx_page_js_sha256);
	nsx_buf_adds(b, "\">\n");
	nsx_buf_adds(b, "<meta name=\"viewport\" content=\"width=device-width, "
			"initial-scale=1\">\n<title>");
	nsx_html_text(b, title);
	nsx_buf_adds(b, "</title>\n<style>");
	nsx_buf_adds(b, nsx_page_css);
	nsx_buf_adds(b, "</style>\n</head>\n<body>\n"
			"<svg class=\"defs\" aria-hidden=\"true\"><defs><pattern id=\"p1\" "
			"width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><rect "
			"class=\"f1\" width=\"6\" height=\"6\"/><path class=\"stripe\" d=\"M0 6L6 "
			"0\"/></pattern><pattern id=\"p2\" width=\"4\" height=\"4\" "
			"patternUnits=\"userSpaceOnUse\"><rect class=\"f2\" width=\"4\" "
			"height=\"4\"/><path class=\"stripe\" d=\"M1 "
			"0V4\"/></pattern></defs></svg>\n");
}

static void add_items(struct nsx_buf *b, const char *const *v, size_t most)
{
	for (size_t i = 0; i < most && v[i]; i++) {
		nsx_buf_adds(b, "<li>");
		nsx_html_inline(b, v[i]);
		nsx_buf_adds(b, "</li>");
	}
}

/* Adds links to the cells cited, and the command that prints the SQL of their table. */
static void page_add_proof(struct nsx_buf *b, const struct nsx_report *r,
			   const struct nsx_finding *f)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();

	NSX_EACH_PROOF(f, i) {
		const struct nsx_evidence *e = &f->proof[i];
		const struct nsx_section *s = e->table ? nsx_section_of(r, e->table) : NULL;
		size_t finding, proof;

		if (!s)
			continue;
		if (nsx_html_has_cell(r, e, &finding, &proof))
			nsx_buf_printf(b, "<li><a href=\"#e-%zu-%zu\">", finding, proof);
		else
			nsx_buf_printf(b, "<li><a href=\"#t-%u\">", nsx_html_table(r, e->table));
		nsx_buf_printf(b, "tables/%s.csv</a>: %s is ", e->csv, e->column);
		nsx_html_text(b, nsx_cell_text(a, &e->cells[e->col]));
		nsx_buf_printf(b, " %s; its SQL: <code>nsys-explain ", nsx_evidence_units(e) ?: "");
		nsx_html_text(b, nsx_base_name(r->path));
		nsx_buf_printf(b, " --explain %s</code></li>", s->pass->id);
	}
}

static void page_add_finding(struct nsx_buf *b, const struct nsx_report *r,
			     const struct nsx_timeline *t, size_t index)
{
	const struct nsx_finding *f = &r->found.v[index];
	const char *severity = nsx_severity_names[f->severity];

	nsx_buf_printf(b, "<article class=\"finding %s\" id=\"f-", severity);
	nsx_html_text(b, f->key);
	nsx_buf_printf(b, "\">\n<h3>%zu. <span class=\"sev\">[%s]</span> ", index + 1, severity);
	if (r->page)
		nsx_html_page(b, NSX_PAGE_PRICE, r->page, f);
	nsx_html_inline(b, f->title);
	nsx_buf_adds(b, "</h3>\n");
	nsx_buf_adds(b, "<p>");
	nsx_html_page(b, NSX_PAGE_PROOF, r->page, f);
	nsx_buf_adds(b, "</p>\n<ul class=\"todo\">");
	add_items(b, f->recommendation, ARRAY_LEN(f->recommendation));
	nsx_buf_adds(b, "</ul>\n<details><summary>Evidence</summary><ul>");
	add_items(b, f->evidence, ARRAY_LEN(f->evidence));
	page_add_proof(b, r, f);
	nsx_buf_adds(b, "</ul></details>\n<p class=\"needs-js\" hidden>");
	if (t->places[index].n)
		nsx_buf_printf(b, "<button data-do=\"show\" data-finding=\"%zu\">Show in the "
				  "timeline</button> <button data-do=\"line\" data-finding="
				  "\"%zu\">Command for its window</button> ", index, index);
	nsx_buf_printf(b, "<button data-do=\"json\" data-finding=\"%zu\">Copy "
			  "as JSON</button></p>\n</article>\n", index);
}

/* Adds the findings about the program, or those about the capture. */
static void page_add_findings(struct nsx_buf *b, const struct nsx_report *r,
			      const struct nsx_timeline *t, const char *heading, bool of_capture)
{
	bool begun = false;

	for (size_t i = 0; i < r->found.n; i++) {
		const struct nsx_finding *f = &r->found.v[i];

		if (f->is_minor || (nsx_finding_category(f) == NSX_CAT_CAPTURE) != of_capture)
			continue;
		if (!begun)
			nsx_buf_printf(b, "<h2>%s</h2>\n", heading);
		begun = true;
		page_add_finding(b, r, t, i);
	}
}

static void add_timeline(struct nsx_buf *b, const struct nsx_timeline *t)
{
	nsx_buf_adds(b, "<section id=\"timeline\" hidden aria-labelledby=\"timeline-title\">\n"
			"<h2 id=\"timeline-title\">Timeline</h2>\n"
			"<p id=\"detail\" class=\"soft\">");
	nsx_buf_printf(b, "%zu events%s.", t->nevents,
		       t->ndetail ? " of the windows marked on the ruler; the "
				    "overview covers all" : "");
	if (t->hidden)
		nsx_buf_printf(b, " %zu more streams and threads are not drawn.", t->hidden);
	nsx_buf_adds(b, " Drag to move, Shift and drag to select, Ctrl and the wheel to zoom; "
			"keys: + − ← → Home, n and p for the next and the previous event, f for "
			"the next finding, / to search, Esc.</p>\n<div class=\"tools\"><button "
			"data-do=\"in\">Zoom in</button><button data-do=\"out\">Zoom out</button>"
			"<button data-do=\"all\">All</button><button data-do=\"judged\">Judged "
			"window</button><button data-do=\"next\">Next finding</button>"
			"<label>Search <input id=\"search\" type=\"search\"></label><button "
			"data-do=\"table\">Sums as a table</button><button "
			"data-do=\"command\">Command for this window</button></div>\n<div "
			"id=\"view\" tabindex=\"0\" role=\"region\" aria-label=\"lanes of events\">"
			"<canvas id=\"lanes\" tabindex=\"0\" role=\"img\" aria-label=\"timeline; "
			"the sums below say what is shown\"></canvas><div "
			"id=\"below\"></div></div>\n"
			"<p id=\"told\" aria-live=\"polite\"></p>\n"
			"<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"sums by "
			"name\"><table id=\"seen\" hidden><caption>What is shown, by "
			"name</caption><thead><tr><th scope=\"col\">name</th><th "
			"scope=\"col\">class</th><th scope=\"col\" class=\"r\">events</th><th "
			"scope=\"col\" class=\"r\">time</th><th scope=\"col\" class=\"r\">of the "
			"range</th></tr></thead><tbody></tbody></table></div>\n</section>\n");
}

static void add_warnings(struct nsx_buf *b, const struct nsx_report *r)
{
	if (!r->nwarnings)
		return;
	nsx_buf_adds(b, "<h2>Warnings</h2><ul>");
	for (size_t i = 0; i < r->nwarnings; i++) {
		nsx_buf_adds(b, "<li>");
		nsx_html_text(b, r->warnings[i]);
		nsx_buf_adds(b, "</li>");
	}
	nsx_buf_adds(b, "</ul>");
}

static void add_page_content(struct nsx_buf *b, const struct nsx_report *r,
			     const struct nsx_timeline *t, const char *title)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();

	nsx_buf_adds(b, "<header>");
	if (r->page) {
		nsx_html_page(b, NSX_PAGE_HEAD, r->page, NULL);
	} else {
		nsx_buf_adds(b, "<h1>");
		nsx_html_text(b, title);
		nsx_buf_adds(b, "</h1>");
	}
	nsx_svg_overview(b, r, t);
	nsx_buf_adds(b, "</header>\n<main>\n");
	page_add_findings(b, r, t, "What to do", false);
	if (r->page)
		nsx_html_page(b, NSX_PAGE_SUM, r->page, NULL);
	add_warnings(b, r);
	page_add_findings(b, r, t, "About the capture", true);
	nsx_svg_waterfall(b, r, a);
	add_timeline(b, t);
	nsx_svg_curves(b, r, a);
	nsx_svg_iterations(b, r, a);
	nsx_svg_idle(b, r, a);
	nsx_svg_ranks(b, r, a);
	nsx_buf_adds(b, "<h2 id=\"sections\">Details</h2>\n");
	nsx_html_sections(b, r);
	nsx_buf_printf(b, "</main>\n<footer class=\"soft\">generated %s by nsys-explain "
			   NSX_VERSION "</footer>\n", r->generated_at);
}

/* Builds the page with at most about `events` events; *drawn: how many it has. *fits is false if
 * the page is longer than `most`; if that is certain beforehand, the events are left out.
 */
static int page_add_page(struct nsx_buf *b, const struct nsx_report *r,
			 size_t events, size_t most, size_t *drawn, bool *fits, struct nsx_err *err)
{
	const char *base = nsx_base_name(r->path);
	struct nsx_timeline *t = NULL;
	int rc = nsx_timeline_build(r, events, &t, err);

	if (rc)
		return rc;
	*drawn = t->nevents;
	*fits = !events || nsx_html_data_may_fit(r, t, most);
	if (*fits) {
		nsx_html_head(b, base, true);
		add_page_content(b, r, t, base);
		rc = nsx_html_data(b, r, t, err);
		nsx_buf_adds(b, "<script>");
		nsx_buf_adds(b, nsx_page_js);
		nsx_buf_adds(b, "</script>\n</body>\n</html>\n");
		*fits = b->n <= most;
	}
	nsx_timeline_free(t);
	return rc;
}

int nsx_write_html(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_report *r = f->subject;
	size_t most = r->html_events == NSX_EVENTS_ALL ? SIZE_MAX :
		      r->html_bytes ? r->html_bytes : NSX_HTML_BYTES;
	size_t events = r->html_events == NSX_EVENTS_ALL  ? SIZE_MAX :
			r->html_events == NSX_EVENTS_NONE ? 0 :
			most > 2 * PAGE_REST ? (most - PAGE_REST) / EVENT_CHARS :
					       most / (2 * EVENT_CHARS);
	size_t drawn;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	bool fits;
	int rc = page_add_page(&b, r, events, most, &drawn, &fits, err);

	/* Distinct names make events larger than usual. */
	while (!rc && !fits && events) {
		nsx_buf_clear(&b);
		events = NSX_MIN(events, drawn) / 2;
		rc = page_add_page(&b, r, events, most, &drawn, &fits, err);
	}
	if (!rc && !fits)
		rc = nsx_fail(err, NSX_E_USAGE, "cannot make a page of %zu bytes: without its "
			      "timeline it takes %zu; give --html-max as much", most, b.n);
	if (!rc)
		fwrite(b.p, 1, b.n, out);
	return rc ? rc : nsx_stopped(err);
}
