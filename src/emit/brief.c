/* brief.c - the first page as JSON of at most NSX_BRIEF_BYTES, for readers that pay by the word.
 *
 * All texts are cut at the same length, the longest at which the page fits.
 */
#include <math.h>
#include "base/jsonw.h"
#include "emit/emit.h"
#include "report/words.h"

enum { LONGEST_TEXT = 320 };

struct brief {
	struct nsx_jsonw *w;
	struct nsx_arena *a;
	size_t most; /* greatest length of a text, in bytes of JSON */
};

/* The size of a character in ASCII-only JSON. */
static size_t json_bytes(uint32_t c)
{
	return c >= 0x10000 ? 12 : c < 0x20 || c >= 0x7f ? 6 : c == '"' || c == '\\' ? 2 : 1;
}

static void brief_add_plain(struct brief *b, const char *key, const char *text)
{
	size_t bytes = 0, n, at = 0, end = 0;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf out = {0};

	if (!text) {
		nsx_jsonw_null(b->w, key);
		return;
	}
	for (; text[at] && bytes <= b->most; at += n) {
		bytes += json_bytes(nsx_code_point(text + at, &n));
		if (bytes + json_bytes(0x2026) <= b->most)
			end = at + n;
	}
	nsx_buf_add(&out, text, bytes <= b->most ? at : end);
	if (bytes > b->most)
		nsx_buf_adds(&out, "…");
	nsx_jsonw_strn(b->w, key, out.p ? out.p : "", out.n);
}

/* Adds a text that the program wrote, converted from Markdown to plain text. */
static void add_program_text(struct brief *b, const char *key, const char *markdown)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf plain = {0};

	if (markdown)
		nsx_md_add_plain(&plain, markdown);
	brief_add_plain(b, key, markdown && !plain.p ? "" : plain.p);
}

static void brief_add_list(struct brief *b, const char *key, const char *const *texts, size_t most)
{
	nsx_jsonw_array(b->w, key);
	for (size_t i = 0; texts && texts[i] && i < most; i++)
		add_program_text(b, NULL, texts[i]);
	nsx_jsonw_end(b->w);
}

static void brief_add_header(struct brief *b, const struct nsx_first_page *p)
{
	static const char *const shares[NSX_NUSES] = {
		[NSX_USE_COMPUTE] = "compute_pct", [NSX_USE_COPY] = "copy_pct",
		[NSX_USE_COMM] = "exposed_communication_pct",
		[NSX_USE_IDLE] = "idle_pct",
	};
	struct nsx_jsonw *w = b->w;

	nsx_jsonw_object(w, "header");
	brief_add_plain(b, "file", p->file);
	nsx_jsonw_real(w, "recorded_ms", (double)p->recorded_ns * 1e-6);
	brief_add_plain(b, "gpus", p->gpus);
	brief_add_plain(b, "processes", p->processes);
	brief_add_plain(b, "product", p->product);
	if (p->judged.start_ns < p->judged.end_ns) {
		nsx_jsonw_object(w, "judged");
		nsx_jsonw_int(w, "start_ns", p->judged.start_ns);
		nsx_jsonw_int(w, "end_ns", p->judged.end_ns);
		nsx_jsonw_str(w, "window", nsx_text_window(b->a, &p->judged));
		brief_add_plain(b, "unit", p->unit);
		for (unsigned u = 0; u < NSX_NUSES && p->ngpus; u++)
			nsx_jsonw_real(w, shares[u], 100 * p->share[u]);
		nsx_jsonw_end(w);
	} else {
		nsx_jsonw_null(w, "judged");
	}
	nsx_jsonw_end(w);
}

static void brief_add_verdict(struct brief *b, const struct nsx_first_page *p)
{
	nsx_jsonw_object(b->w, "verdict");
	nsx_jsonw_str(b->w, "word", nsx_verdict_words[p->verdict]);
	nsx_jsonw_array(b->w, "of");
	if (p->verdict == NSX_V_MIXED) {
		nsx_jsonw_str(b->w, NULL, nsx_verdict_words[p->first]);
		nsx_jsonw_str(b->w, NULL, nsx_verdict_words[p->second]);
	}
	nsx_jsonw_end(b->w);
	add_program_text(b, "because", p->because);
	nsx_jsonw_end(b->w);
}

static void brief_add_finding(struct brief *b, const struct nsx_first_page *p,
			      const struct nsx_finding *f)
{
	struct nsx_jsonw *w = b->w;
	bool is_known = f->price != NSX_PRICE_NONE && p->now_ns > 0;

	nsx_jsonw_object(w, NULL);
	brief_add_plain(b, "key", f->key);
	nsx_jsonw_str(w, "severity", nsx_severity_names[f->severity]);
	add_program_text(b, "title", f->title);
	nsx_jsonw_str(w, "price", nsx_price_names[f->price]);
	nsx_json_add_cell(w, "headroom_ms", nsx_real(is_known ? f->headroom_ns / 1e6 : NAN));
	nsx_json_add_cell(w, "headroom_low_ms", nsx_real(is_known ? f->low_ns / 1e6 : NAN));
	nsx_json_add_cell(w, "pct_of_judged",
			  nsx_real(is_known ? 100 * f->headroom_ns / p->now_ns : NAN));
	nsx_jsonw_str(w, "confidence", nsx_confidence_names[f->confidence]);
	add_program_text(b, "place", f->place);
	brief_add_list(b, "evidence", f->evidence, 2);
	brief_add_list(b, "recommendation", f->recommendation, 1);
	nsx_jsonw_end(w);
}

static int brief_write_page(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_first_page *p = f->subject;
	const size_t *most = f->detail;
	struct brief b = {nsx_jsonw_new(), nsx_arena_new(), *most};
	struct nsx_jsonw *w = b.w;
	int rc;

	nsx_jsonw_object(w, NULL);
	nsx_jsonw_int(w, "schema_version", 1);
	brief_add_verdict(&b, p);
	brief_add_header(&b, p);
	nsx_jsonw_array(w, "findings");
	for (unsigned i = 0; i < p->nfindings; i++)
		brief_add_finding(&b, p, p->finding[i]);
	nsx_jsonw_end(w);
	nsx_json_add_cell(w, "all_done_ms", nsx_real(p->then_ns < 0 ? NAN : p->then_ns * 1e-6));
	if (p->asked)
		brief_add_list(&b, "asked", p->asked, SIZE_MAX);
	if (p->steps)
		brief_add_list(&b, "steps", p->steps, SIZE_MAX);
	brief_add_list(&b, "dearest", p->most_time, SIZE_MAX);
	brief_add_list(&b, "not_judged", p->unjudged, SIZE_MAX);
	brief_add_list(&b, "fine", p->fine, SIZE_MAX);
	brief_add_list(&b, "trust", p->trust, SIZE_MAX);
	brief_add_list(&b, "missing", p->missing, SIZE_MAX);
	nsx_jsonw_end(w);
	rc = nsx_jsonw_finish(w, out, err);
	nsx_arena_free(b.a);
	return rc;
}

int nsx_write_brief(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf text = {0};
	size_t most = LONGEST_TEXT;
	int rc;

	do {
		const struct nsx_out_file page = {.write = brief_write_page,
						  .subject = f->subject,
						  .detail = &most};

		nsx_buf_clear(&text);
		rc = nsx_out_string(&page, &text, err);
		most = most * 3 / 4;
	} while (!rc && text.n > NSX_BRIEF_BYTES);
	if (!rc)
		fwrite(text.p, 1, text.n, out);
	return rc;
}
