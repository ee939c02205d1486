/* data.c - data for the script of a page, none of it executable. */
#include <libdeflate.h>
#include <math.h>
#include "base/jsonw.h"
#include "emit/emit.h"
#include "emit/html/html.h"

enum { MAX_ITERATIONS = 10000, BINS = NSX_OVERVIEW_BINS, MAX_NAME = 400, MOST_STRIPS = 64 };
enum { LEVEL = 3 }; /* compression level: fast */

/* Base64 ----------------------------------------------------------------------*/

static void put_base64(struct nsx_buf *b, const uint8_t *p, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmno"
				     "pqrstuvwxyz0123456789+/";
	char *to = nsx_buf_room(b, (n + 2) / 3 * 4 + 1);

	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (uint32_t)(i + 1 < n ? p[i + 1] : 0) << 8 |
			     (i + 2 < n ? p[i + 2] : 0);

		*to++ = digits[v >> 18];
		*to++ = digits[v >> 12 & 63];
		*to++ = (char)(i + 1 < n ? digits[v >> 6 & 63] : '=');
		*to++ = (char)(i + 2 < n ? digits[v & 63] : '=');
	}
	*to = '\0';
	b->n = (size_t)(to - b->p);
}

/* Events ------------------------------------------------------------------------*/

/* All columns of all lanes, one after the other, as one zlib stream. */
static int put_events(struct nsx_buf *b, const struct nsx_timeline *t, struct nsx_err *err)
{
	struct libdeflate_compressor *z = libdeflate_alloc_compressor(LEVEL);
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf plain = {0}, packed = {0};
	size_t most;

	if (!z)
		return nsx_fail(err, NSX_E_NOMEM, "not enough memory to pack "
				"the events of the page");
	for (size_t i = 0; i < t->nlanes; i++) {
		const struct nsx_lane_events *l = &t->lanes[i];

		if (!l->n)
			continue;
		nsx_buf_add(&plain, l->start.p, l->start.n);
		nsx_buf_add(&plain, l->length.p, l->length.n);
		nsx_buf_add(&plain, l->name.p, l->name.n);
	}
	most = libdeflate_zlib_compress_bound(z, plain.n);
	packed.n = libdeflate_zlib_compress(z, plain.p, plain.n, nsx_buf_room(&packed, most), most);
	put_base64(b, (const uint8_t *)packed.p, packed.n);
	libdeflate_free_compressor(z);
	return 0;
}

/* The inert JSON ------------------------------------------------------------------*/

/* Begins an array with a span. */
static void put_span(struct nsx_jsonw *w, const char *key, const struct nsx_timeline *t,
		     int64_t start_ns, int64_t end_ns)
{
	nsx_jsonw_array(w, key);
	nsx_jsonw_int(w, NULL, start_ns - t->origin_ns);
	nsx_jsonw_int(w, NULL, end_ns - t->origin_ns);
}

static void put_findings(struct nsx_jsonw *w, const struct nsx_report *r,
			 const struct nsx_timeline *t)
{
	nsx_jsonw_array(w, "findings");
	for (size_t i = 0; i < r->found.n && !r->found.v[i].is_minor; i++) {
		const struct nsx_finding *f = &r->found.v[i];

		nsx_jsonw_object(w, NULL);
		nsx_jsonw_str(w, "key", f->key);
		nsx_jsonw_str(w, "title", f->title);
		nsx_jsonw_str(w, "severity", nsx_severity_names[f->severity]);
		nsx_json_add_cell(w, "headroom_ms", nsx_real(f->price ? f->headroom_ns / 1e6 : NAN));
		nsx_jsonw_str(w, "price", nsx_price_names[f->price]);
		/* The first window is where the button "show" leads. */
		nsx_jsonw_array(w, "windows");
		for (size_t k = 0; k < t->places[i].n; k++) {
			put_span(w, NULL, t, t->places[i].v[k].start_ns, t->places[i].v[k].end_ns);
			nsx_jsonw_end(w);
		}
		nsx_jsonw_end(w);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
}

/* Adds the first n iterations of a process and device. */
static void put_iterations(struct nsx_jsonw *w, const struct nsx_report *r,
			   const struct nsx_timeline *t, const struct nsx_iteration *x, size_t n)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf label = {0};

	nsx_buf_adds(&label, "iterations");
	if (x->process != NSX_NONE && r->trace->nprocesses > r->trace->ndevices)
		nsx_buf_printf(&label, " of %s", nsx_pid_label(r->trace, x->process));
	nsx_jsonw_object(w, NULL);
	nsx_jsonw_str(w, "label", label.p);
	nsx_jsonw_int(w, "gpu", x->device == NSX_NONE ? -1 : (int64_t)x->device);
	nsx_jsonw_array(w, "at");
	for (size_t i = 0; i < n; i++) {
		put_span(w, NULL, t, x[i].start_ns, x[i].end_ns);
		nsx_jsonw_int(w, NULL, x[i].steady);
		nsx_jsonw_int(w, NULL, x[i].slow);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
	nsx_jsonw_end(w);
}

static void data_put_gpus(struct nsx_jsonw *w, const struct nsx_report *r,
			  const struct nsx_timeline *t)
{
	nsx_jsonw_array(w, "gpus");
	for (uint32_t d = 0; d < r->trace->ndevices; d++) {
		NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

		nsx_jsonw_object(w, NULL);
		nsx_buf_printf(&b, "GPU %s", nsx_gpu_label(r->trace, d));
		nsx_jsonw_str(w, "label", b.p);
		nsx_buf_clear(&b);
		/* Hundreds of GPUs would fill the page, so more than some are drawn only if they
		 * have lanes.
		 */
		if (d < MOST_STRIPS || NSX_ANY(i, t->nlanes, t->lanes[i].device == d))
			put_base64(&b, t->overview + (size_t)d * BINS * NSX_NPARTS,
				   (size_t)BINS * NSX_NPARTS);
		nsx_jsonw_strn(w, "overview", b.p ? b.p : "", b.n);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
}

/* Adds a curve as bytes: 0 is unknown, 1 is zero, 255 a full bar. */
static void put_curve(struct nsx_jsonw *w, const struct nsx_curve *c)
{
	uint8_t at[NSX_CURVE_BINS];
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	for (unsigned i = 0; i < NSX_CURVE_BINS; i++) {
		double x = (double)c->at[i] / c->full;

		at[i] = isnan(x) ? 0 : (uint8_t)(1.5 + 254 * NSX_MIN(1, x));
	}
	nsx_jsonw_object(w, NULL);
	nsx_buf_printf(&b, "%s", c->label);
	if (c->device == NSX_NONE)
		nsx_buf_printf(&b, ", GPU %lld", (long long)c->device_id);
	nsx_jsonw_str(w, "label", b.p);
	nsx_buf_clear(&b);
	nsx_jsonw_str(w, "unit", c->unit);
	nsx_jsonw_int(w, "gpu", c->device == NSX_NONE ? -1 : (int64_t)c->device);
	nsx_jsonw_real(w, "full", c->full);
	put_base64(&b, at, sizeof(at));
	nsx_jsonw_str(w, "at", b.p);
	nsx_jsonw_end(w);
}

static void put_curves(struct nsx_jsonw *w, const struct nsx_report *r)
{
	nsx_jsonw_array(w, "curves");
	for (size_t i = 0; i < r->nsections; i++)
		for (size_t k = 0; k < r->sections[i].ncurves; k++)
			put_curve(w, &r->sections[i].curves[k]);
	nsx_jsonw_end(w);
}

static void put_lanes(struct nsx_jsonw *w, const struct nsx_report *r, const struct nsx_timeline *t)
{
	size_t at = 0;

	nsx_jsonw_array(w, "lanes");
	for (size_t i = 0; i < t->nlanes; i++) {
		const struct nsx_lane_events *l = &t->lanes[i];

		nsx_jsonw_object(w, NULL);
		nsx_jsonw_str(w, "label", l->label);
		nsx_jsonw_int(w, "gpu", l->device == NSX_NONE ? -1 : (int64_t)l->device);
		nsx_jsonw_int(w, "n", (int64_t)l->n);
		nsx_jsonw_array(w, "at");
		nsx_jsonw_int(w, NULL, (int64_t)at);
		nsx_jsonw_int(w, NULL, (int64_t)(at + l->start.n));
		nsx_jsonw_int(w, NULL, (int64_t)(at + l->start.n + l->length.n));
		nsx_jsonw_end(w);
		nsx_jsonw_end(w);
		at += l->start.n + l->length.n + l->name.n;
	}
	nsx_jsonw_end(w);
	nsx_jsonw_array(w, "names");
	for (size_t i = 0; i < t->nnames; i++) {
		const char *text = nsx_event_text(r, t, i);
		NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

		nsx_buf_add(&b, text, strnlen(text, MAX_NAME));
		nsx_jsonw_array(w, NULL);
		nsx_jsonw_strn(w, NULL, b.p, b.n); /* repairs UTF-8 at the cut */
		nsx_jsonw_int(w, NULL, t->names[i].cls);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
}

static void put_timeline(struct nsx_jsonw *w, const struct nsx_report *r,
			 const struct nsx_timeline *t)
{
	struct nsx_window judged = nsx_judged(r->facts);
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	nsx_jsonw_object(w, NULL);
	nsx_buf_printf(&b, "%lld", (long long)t->origin_ns);
	/* The number is written as text, because it may exceed a double's precision. */
	nsx_jsonw_str(w, "origin", b.p);
	nsx_jsonw_int(w, "length", t->end_ns - t->origin_ns);
	if (judged.start_ns == judged.end_ns)
		judged = (struct nsx_window){t->origin_ns, t->end_ns};
	put_span(w, "judged", t, judged.start_ns, judged.end_ns);
	nsx_jsonw_end(w);
	nsx_buf_clear(&b);
	nsx_buf_printf(&b, "nsys-explain %s", nsx_base_name(r->path));
	nsx_jsonw_str(w, "command", b.p);
	nsx_jsonw_int(w, "bins", BINS);
	nsx_jsonw_int(w, "parts", NSX_NPARTS);
	nsx_jsonw_array(w, "classes");
	for (unsigned i = 0; i < NSX_NEV; i++)
		nsx_jsonw_str(w, NULL, nsx_event_class_names[i]);
	nsx_jsonw_end(w);
	nsx_jsonw_array(w, "detail");
	for (size_t i = 0; i < t->ndetail; i++) {
		put_span(w, NULL, t, t->detail[i].start_ns, t->detail[i].end_ns);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
	data_put_gpus(w, r, t);
	put_curves(w, r);
	put_lanes(w, r, t);
	nsx_jsonw_array(w, "iterations");
	for (size_t i = 0, left = MAX_ITERATIONS; left && i < r->facts->nloops; i++) {
		const struct nsx_loop *l = &r->facts->loops[i];
		size_t n = NSX_MIN(l->n, left);

		put_iterations(w, r, t, l->v, n);
		left -= n;
	}
	nsx_jsonw_end(w);
	put_findings(w, r, t);
	nsx_jsonw_end(w);
}

/* Escapes "<", ">" and "&", which occur only in strings, so that nothing can end the script
 * element.
 */
static void put_escaped_json(struct nsx_buf *b, const char *json, size_t n)
{
	for (size_t i = 0, run; i < n; i += run + 1) {
		run = strcspn(json + i, "<>&");
		nsx_buf_add(b, json + i, run);
		if (i + run < n)
			nsx_buf_printf(b, "\\u%04x", json[i + run]);
	}
}

bool nsx_html_data_may_fit(const struct nsx_report *r, const struct nsx_timeline *t, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < t->nnames && n <= most; i++)
		n += strnlen(nsx_event_text(r, t, i), MAX_NAME) + strlen("[\"\",0]");
	return n <= most;
}

int nsx_html_data(struct nsx_buf *b, const struct nsx_report *r,
		  const struct nsx_timeline *t, struct nsx_err *err)
{
	struct nsx_jsonw *w = nsx_jsonw_new();
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf text = {0};
	int rc;

	put_timeline(w, r, t);
	rc = nsx_jsonw_add_to(w, &text, err);
	nsx_jsonw_free(w);
	if (!rc) {
		nsx_buf_adds(b, "<script type=\"application/json\" id=\"meta\">");
		put_escaped_json(b, text.p, text.n);
		nsx_buf_adds(b, "\n</script>\n<script type=\"text/plain\" id=\"events\">");
		rc = put_events(b, t, err);
		nsx_buf_adds(b, "</script>\n");
	}
	return rc;
}
