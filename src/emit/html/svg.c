/* svg.c - pictures that need no script. Each has its figures in words. */
#include <limits.h>
#include <stdio.h>
#include "emit/html/html.h"
#include "report/words.h"

enum { WIDTH = NSX_SVG_WIDTH, LEFT = NSX_SVG_LEFT };

static const struct part { /* classes of a partition, in the order in which they are drawn */
	const char *colour, *title;
} parts[NSX_NPARTS] = {
	[NSX_P_COMPUTE_ONLY] = {"k0", "compute"},
	[NSX_P_COMPUTE_COPY] = {"k3", "compute with copies beside it"},
	[NSX_P_COMPUTE_COMM] = {"k4", "compute with communication beside it"},
	[NSX_P_COMM_EXPOSED] = {"k1", "exposed communication"},
	[NSX_P_COPY_EXPOSED] = {"k2", "copies alone"},
	[NSX_P_IDLE] = {"k7", "idle"},
};

void nsx_svg_open(struct nsx_buf *b, int height, const char *title)
{
	nsx_buf_adds(b, "<div class=\"pic\" tabindex=\"0\" role=\"group\" aria-label=\"");
	nsx_html_text(b, title);
	nsx_buf_printf(b, "\"><svg viewBox=\"0 0 %d %d\" role=\"img\" "
			  "aria-label=\"", WIDTH, height);
	nsx_html_text(b, title);
	nsx_buf_adds(b, "\">");
}

void nsx_svg_close(struct nsx_buf *b)
{
	nsx_buf_adds(b, "</svg></div>\n");
}

void nsx_svg_rect(struct nsx_buf *b, const char *colour, double x, double y, double w, double h)
{
	nsx_buf_printf(b, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			  "height=\"%.1f\"/>", colour, x, y, w, h);
}

void nsx_svg_label(struct nsx_buf *b, double x, double y, const char *text)
{
	nsx_buf_printf(b, "<text x=\"%.1f\" y=\"%.1f\">", x, y);
	nsx_html_text(b, text);
	nsx_buf_adds(b, "</text>");
}

void nsx_svg_legend(struct nsx_buf *b, const char *const *colours,
		    const char *const *titles, size_t n)
{
	nsx_buf_adds(b, "<ul class=\"legend\">");
	for (size_t k = 0; k < n; k++)
		nsx_buf_printf(b, "<li><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect "
				  "class=\"%s\" width=\"10\" height=\"10\"/></svg> %s</li>",
			       colours[k], titles[k]);
	nsx_buf_adds(b, "</ul>");
}

static const char *say_curve_value(struct nsx_arena *a, const struct nsx_curve *c, double x)
{
	return *c->unit == 'B' ? nsx_text_bytes(a, x) : nsx_arena_printf(a, "%.3g %s", x, c->unit);
}

/* Overview ------------------------------------------------------------------------*/

enum { COLUMNS = 256, STRIP = 26 };

/* Draws a path for each class: the stacked columns of a GPU. */
static void draw_strip(struct nsx_buf *b, const uint8_t *bins, double y)
{
	double base[COLUMNS] = {0}, w = (double)(WIDTH - LEFT) / COLUMNS;

	for (unsigned k = 0; k < NSX_NPARTS; k++) {
		nsx_buf_printf(b, "<path class=\"%s\" d=\"", parts[k].colour);
		for (unsigned c = 0; c < COLUMNS; c++) {
			enum { EACH = NSX_OVERVIEW_BINS / COLUMNS };
			double sum = 0, all = 0, h;

			for (unsigned i = 0; i < EACH; i++)
				for (unsigned p = 0; p < NSX_NPARTS; p++) {
					double v = bins[(c * EACH + i) * NSX_NPARTS + p];

					sum += p == k ? v : 0;
					all += v;
				}
			h = all > 0 ? sum / all * STRIP : 0;
			if (h >= 0.05)
				nsx_buf_printf(b, "M%.1f %.1fv%.1fh%.1fv%.1fz",
					       LEFT + c * w, y + STRIP - base[c], -h, w, h);
			base[c] += h;
		}
		nsx_buf_adds(b, "\"/>");
	}
}

void nsx_svg_overview(struct nsx_buf *b, const struct nsx_report *r, const struct nsx_timeline *t)
{
	enum { MAX_STRIPS = 16 };
	const char *colours[NSX_NPARTS + 1], *titles[NSX_NPARTS + 1];
	struct nsx_window w = nsx_judged(r->facts);
	double scale = (WIDTH - LEFT) / (double)(t->end_ns - t->origin_ns);
	uint32_t n = NSX_MIN(r->trace->ndevices, (uint32_t)MAX_STRIPS);

	if (!n)
		return;
	nsx_svg_open(b, (int)n * (STRIP + 6) + 4, "share of the time of each GPU by "
		 "class, from the first to the last operation");
	for (uint32_t d = 0; d < n; d++) {
		char text[48];

		snprintf(text, sizeof(text), "GPU %s", nsx_gpu_label(r->trace, d));
		nsx_svg_label(b, 0, d * (STRIP + 6) + 17, text);
		draw_strip(b, t->overview + (size_t)d * NSX_OVERVIEW_BINS * NSX_NPARTS,
			   d * (STRIP + 6));
	}
	nsx_svg_rect(b, "judged", LEFT + (double)(w.start_ns - t->origin_ns) *
				       scale, n * (STRIP + 6.0) - 2,
		     (double)(w.end_ns - w.start_ns) * scale, 4);
	nsx_svg_close(b);
	for (unsigned k = 0; k < NSX_NPARTS; k++) {
		colours[k] = parts[k].colour;
		titles[k] = parts[k].title;
	}
	colours[NSX_NPARTS] = "judged";
	titles[NSX_NPARTS] = "the window that was judged";
	nsx_svg_legend(b, colours, titles, NSX_NPARTS + 1);
	if (n < r->trace->ndevices)
		nsx_buf_printf(b, "<p class=\"soft\">%u more GPUs are not "
				  "drawn.</p>", r->trace->ndevices - n);
}

/* Waterfall -----------------------------------------------------------------------*/

/* The finding of the first page that was applied next after position `after`; UINT_MAX: none. */
static unsigned next_applied(const struct nsx_first_page *p, unsigned after)
{
	unsigned best = UINT_MAX;

	for (unsigned i = 0; i < p->nfindings; i++)
		if (p->counted[i] && p->finding[i]->disjoint_ns > 0 &&
		    p->finding[i]->applied > after &&
		    (best == UINT_MAX || p->finding[i]->applied < p->finding[best]->applied))
			best = i;
	return best;
}

/* Draws the judged window, and what is left of it after each remedy of the first page. */
void nsx_svg_waterfall(struct nsx_buf *b, const struct nsx_report *r, struct nsx_arena *a)
{
	enum { ROW = 24 };
	const struct nsx_first_page *p = r->page;
	struct nsx_won won = {{0}};
	double left, scale;
	unsigned n = 0, i;

	for (i = 0; p && i < p->nfindings; i++)
		n += p->counted[i] && p->finding[i]->disjoint_ns > 0;
	if (!n || p->now_ns <= 0)
		return;
	scale = (WIDTH - LEFT) / p->now_ns;
	nsx_buf_adds(b, "<h2 id=\"waterfall\">If this were done</h2>");
	nsx_svg_open(b, (int)(n + 1) * ROW, "the judged window, and what each remedy takes off it");
	nsx_svg_rect(b, "k7", LEFT, 4, WIDTH - LEFT, ROW - 8);
	nsx_svg_label(b, 0, 17, "now");
	nsx_svg_label(b, LEFT + 6, 17, nsx_text_ns(a, p->now_ns));
	for (unsigned k = 1, at = 0; (i = next_applied(p, at)) != UINT_MAX; k++) {
		const struct nsx_finding *f = p->finding[i];
		double y = (double)k * ROW;

		at = f->applied;
		left = p->now_ns - nsx_win(&won, f->set, f->disjoint_ns);
		nsx_svg_label(b, 0, y + 17, nsx_arena_printf(a, "%swithout %u",
							     k > 1 ? "and " : "", i + 1));
		nsx_svg_rect(b, "k7", LEFT, y + 4, left * scale, ROW - 8);
		nsx_svg_rect(b, "won", LEFT + left * scale, y + 4, f->disjoint_ns * scale, ROW - 8);
		nsx_svg_label(b, LEFT + 6, y + 17, nsx_arena_printf(a, "−%s", nsx_text_ns(
									a, f->disjoint_ns)));
	}
	nsx_svg_close(b);
}

/* Memory and counters over the window ----------------------------------------------*/

enum { CURVE_LEFT = 160 };

static double curve_maximum(const struct nsx_curve *c)
{
	double x = 0;

	for (unsigned i = 0; i < NSX_CURVE_BINS; i++)
		x = c->at[i] > x ? (double)c->at[i] : x; /* the comparison is false for NAN */
	return x;
}

static void draw_curve(struct nsx_buf *b, const struct nsx_curve *c, double y, double height)
{
	double w = (double)(WIDTH - CURVE_LEFT) / NSX_CURVE_BINS;

	nsx_buf_adds(b, "<path class=\"k3\" d=\"");
	for (unsigned i = 0, next; i < NSX_CURVE_BINS; i = next) {
		double h = height * NSX_MIN(1, (double)c->at[i] / c->full);

		for (next = i + 1; next < NSX_CURVE_BINS && c->at[next] == c->at[i]; next++)
			;
		if (h >= 0.05) /* the comparison is false for NAN */
			nsx_buf_printf(b, "M%.1f %.1fv%.1fh%.1fv%.1fz",
				       CURVE_LEFT + i * w, y + height, -h, (next - i) * w, h);
	}
	nsx_buf_adds(b, "\"/>");
}

void nsx_svg_curves(struct nsx_buf *b, const struct nsx_report *r, struct nsx_arena *a)
{
	enum { ROW = 40, MAX_CURVES = 32 };
	const struct nsx_curve *v[MAX_CURVES];
	unsigned n = 0;

	for (size_t i = 0; i < r->nsections; i++)
		for (size_t k = 0; k < r->sections[i].ncurves; k++)
			if (n < MAX_CURVES && curve_maximum(&r->sections[i].curves[k]) > 0)
				v[n++] = &r->sections[i].curves[k];
	if (!n)
		return;
	nsx_buf_adds(b, "<h2 id=\"curves\">Over time</h2>");
	nsx_svg_open(b, (int)n * ROW, "memory and counters from the first to the last operation");
	for (unsigned i = 0; i < n; i++) {
		double y = i * ROW;

		nsx_svg_label(b, 0, y + 16, v[i]->label);
		nsx_svg_label(b, 0, y + 30, nsx_arena_printf(
			a, "GPU %s, at most %s", v[i]->device == NSX_NONE ?
				nsx_arena_printf(a, "%lld", (long long)v[i]->device_id) :
				nsx_gpu_label(r->trace, v[i]->device),
			say_curve_value(a, v[i], curve_maximum(v[i]))));
		nsx_svg_rect(b, "k7", CURVE_LEFT, y + 2, WIDTH - CURVE_LEFT, ROW - 4);
		draw_curve(b, v[i], y + 2, ROW - 4);
	}
	nsx_svg_close(b);
}

/* Idle time by length of its gap, weighted by time --------------------------------*/

enum { DECADES = 8 }; /* bins of gap lengths: below 1 us, ... 1 s and more */
static const char *const decade_names[DECADES] = {
	"< 1 µs", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "≥ 1 s"};

static unsigned gap_decade(int64_t ns)
{
	unsigned d = 0;

	for (int64_t limit = 1000; d < DECADES - 1 && ns >= limit; limit *= 10)
		d++;
	return d;
}

void nsx_svg_idle(struct nsx_buf *b, const struct nsx_report *r, struct nsx_arena *a)
{
	struct nsx_window judged = nsx_judged(r->facts);
	int64_t ns[DECADES] = {0}, most = 0, all = 0;
	size_t count[DECADES] = {0};

	for (uint32_t d = 0; d < r->trace->ndevices; d++) {
		struct nsx_gap gap;
		size_t at = 0;

		while (nsx_next_gap(&r->facts->idle[d], &at, &gap)) {
			int64_t length = NSX_MIN(gap.end_ns, judged.end_ns) -
					 NSX_MAX(gap.start_ns, judged.start_ns);
			unsigned k;

			if (gap.is_edge || length <= 0)
				continue;
			k = gap_decade(length);
			ns[k] += length;
			count[k]++;
			most = NSX_MAX(most, ns[k]);
			all += length;
		}
	}
	if (!all)
		return;
	nsx_buf_adds(b, "<h2 id=\"gaps\">Idle time of the judged window by length of the gap</h2>");
	nsx_svg_open(b, 150, "idle time of all GPUs by the length of its gaps");
	for (unsigned k = 0; k < DECADES; k++) {
		double w = (double)WIDTH / DECADES;
		double h = 90.0 * (double)ns[k] / (double)most;

		nsx_svg_rect(b, "k3", k * w + 8, 110 - h, w - 16, h);
		nsx_svg_label(b, k * w + 8, 126, decade_names[k]);
		if (!count[k])
			continue;
		nsx_svg_label(b, k * w + 8, 142, nsx_arena_printf(
			a, "%zu, Σ %s", count[k], nsx_text_ns(a, (double)ns[k])));
	}
	nsx_svg_close(b);
	nsx_buf_printf(b, "<p class=\"soft\">The height is time: %s in all, the number of gaps and "
			  "their sum stand below. Each label is the least length of its bar.</p>",
		       nsx_text_ns(a, (double)all));
}

/* Iterations ----------------------------------------------------------------------*/

void nsx_svg_iterations(struct nsx_buf *b, const struct nsx_report *r, struct nsx_arena *a)
{
	enum { MAX_DOTS = 4000, HEIGHT = 160 };
	const struct nsx_facts *f = r->facts;
	size_t n = NSX_MIN(f->niterations, (size_t)MAX_DOTS), slow = 0;
	int64_t most = 1;

	if (n < 3)
		return;
	for (size_t i = 0; i < n; i++) {
		most = NSX_MAX(most, f->iterations[i].end_ns - f->iterations[i].start_ns);
		slow += f->iterations[i].slow;
	}
	nsx_buf_adds(b, "<h2 id=\"dots\">How long each repetition took</h2>");
	nsx_svg_open(b, HEIGHT, "length of each repetition; slow ones stand out");
	for (size_t i = 0; i < n; i++) {
		const struct nsx_iteration *it = &f->iterations[i];
		double x = 60 + (WIDTH - 70) * (double)i / (double)n;
		double y = HEIGHT - 20 - (HEIGHT - 40) *
			   (double)(it->end_ns - it->start_ns) / (double)most;

		double size = it->slow ? 7 : it->steady ? 4 : 2;

		nsx_svg_rect(b, it->slow ? "k5" : it->steady ? "k3" : "k6",
			     x - size / 2, y - size / 2, size, size);
	}
	nsx_buf_printf(b, "<path class=\"axis\" d=\"M58 10V%dH%d\" "
			  "fill=\"none\"/>", HEIGHT - 18, WIDTH);
	nsx_svg_label(b, 0, 20, nsx_text_ns(a, (double)most));
	nsx_svg_label(b, 0, HEIGHT - 16, "0");
	nsx_svg_close(b);
	nsx_buf_printf(b, "<p class=\"soft\">%zu repetitions, %s of them slow "
			  "(large, red); small grey ones are not judged.%s</p>",
		       n, slow ? nsx_text_count(a, (double)slow) : "none",
		       n < f->niterations ? " The first ones are drawn." : "");
}

/* Ranks ---------------------------------------------------------------------------*/

void nsx_svg_ranks(struct nsx_buf *b, const struct nsx_report *r, struct nsx_arena *a)
{
	enum { ROW = 20, MAX_ROWS = 32 };
	const struct nsx_section *s = nsx_report_section(r, "nccl");
	const struct nsx_table *t = nsx_section_table(s, "rank_rows");
	size_t n = t ? NSX_MIN(t->nrows, (size_t)MAX_ROWS) : 0;
	double most = 0;

	for (size_t i = 0; i < n; i++)
		most = NSX_MAX(most, nsx_table_number(t, i, "induced_ms"));
	if (n < 2 || most <= 0)
		return;
	nsx_buf_adds(b, "<h2 id=\"ranks\">Who makes the others wait</h2>");
	nsx_svg_open(b, (int)n * ROW, "time that each rank made its peers wait");
	for (size_t i = 0; i < n; i++) {
		double v = nsx_table_number(t, i, "induced_ms");

		nsx_svg_rect(b, "k1", 2 * LEFT, (double)i * ROW + 3,
		     (WIDTH - 3 * LEFT) * v / most, ROW - 6);
		nsx_svg_label(b, 0, (double)i * ROW + 15, nsx_arena_printf(
			a, "%s %s", nsx_table_text(t, i, "op_name"),
			nsx_table_text(t, i, "rank_label")));
		nsx_svg_label(b, 2 * LEFT + (WIDTH - 3 * LEFT) * v / most + 4,
		      (double)i * ROW + 15, nsx_text_ns(a, v * 1e6));
	}
	nsx_svg_close(b);
}
