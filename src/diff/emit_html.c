/* emit_html.c - the comparison as a page: the first lines of diff.md, pictures, the rest.
 *
 * Before always stands above after, on one scale: the parts of the run, a typical unit of
 * each GPU, the parts of the mean.
 */
#include <math.h>
#include "diff/emit.h"
#include "emit/html/html.h"
#include "report/words.h"

enum {
	MOST_LANES = 16,
	COLUMNS = NSX_SVG_WIDTH - NSX_SVG_LEFT,
	ROW = 24,
};

/* Whether and how a kernel was matched with the other side. */
enum standing { ALIKE, MATCHED, ALONE, NSTANDINGS };
static const char *const colours[] = {"k0", "k2", "k5", "k7"};
static const char *const standings[] = {
	"the same kernel on both sides", "another kernel in its place",
	"on this side only", "no kernel runs"};

static enum standing standing_of(const struct nsx_diff *d, uint32_t kernel)
{
	uint32_t row = d->rows.row[kernel];

	if (row == NSX_NONE || d->rows.kind[row] >= NSX_M_REMOVED)
		return ALONE;
	return d->rows.kind[row] <= NSX_M_TEMPLATE ? ALIKE : MATCHED;
}

/* Draws a typical unit. Each column has the colour of the standing with most time in it. */
static void draw_unit(struct nsx_buf *b, const struct nsx_diff *d, const struct nsx_lane *l,
		      double ns_a_column, double y)
{
	double (*share)[NSTANDINGS] = nsx_alloc(COLUMNS, sizeof(*share));
	unsigned from = 0, was = NSTANDINGS;
	for (size_t i = 0; i < l->norder; i++) {
		const struct nsx_placed *p = &l->order[i];
		enum standing k = standing_of(d, p->kernel);
		double at = (double)p->at_ns / ns_a_column;
		double end = at + (double)p->ns / ns_a_column;

		for (unsigned c = (unsigned)at; c < COLUMNS && c < end; c++)
			share[c][k] += NSX_MIN(end, c + 1) - NSX_MAX(at, c);
	}
	for (unsigned c = 0; c <= COLUMNS; c++) {
		unsigned most = NSTANDINGS;

		for (unsigned k = 0; c < COLUMNS && k < NSTANDINGS; k++)
			if (share[c][k] >= 0.05 && (most == NSTANDINGS ||
					share[c][k] > share[c][most]))
				most = k;
		if (c < COLUMNS && most == was)
			continue;
		if (was < NSTANDINGS)
			nsx_svg_rect(b, colours[was], NSX_SVG_LEFT + from, y, c - from, ROW - 6);
		from = c;
		was = most;
	}
	free(share);
}

static void draw_units(struct nsx_buf *b, const struct nsx_diff *d,
		       const uint32_t *lanes, size_t n, struct nsx_arena *a)
{
	double longest = 1;

	for (size_t l = 0; l < n; l++)
		for (unsigned s = 0; s < 2; s++)
			longest = NSX_MAX(longest, (double) d->pool[s].lanes[lanes[l]].typical_ns);
	nsx_buf_adds(b, "<h2>A typical unit before and after</h2>\n");
	nsx_svg_open(b, (int)(2 * n * ROW), "kernels of a typical unit of each "
		     "GPU, before and after");
	for (uint32_t l = 0; l < 2 * n; l++) {
		const struct nsx_lane *x = &d->pool[l % 2].lanes[lanes[l / 2]];

		nsx_svg_label(b, 0, l * ROW + 14,
			      nsx_arena_printf(a, "%s %s",
					       nsx_lane_name(d, lanes[l / 2], a),
					       l % 2 ? "after" : "before"));
		nsx_svg_rect(b, "k7", NSX_SVG_LEFT, l * ROW,
			     COLUMNS * (double)x->typical_ns / longest, ROW - 6);
		draw_unit(b, d, x, longest / COLUMNS, l * ROW);
	}
	nsx_svg_close(b);
	nsx_svg_legend(b, colours, standings, ARRAY_LEN(colours));
	nsx_buf_printf(b, "<p class=\"soft\">The unit of median length; all of "
			  "the width is %s.</p>\n", nsx_text_ns(a, longest));
}

struct part {
	const char *name;
	double before_ns, after_ns;
};

/* Draws a bar before and a bar after for each part, all on one scale. */
static void draw_parts(struct nsx_buf *b, const char *title, const struct part *v,
		       size_t n, struct nsx_arena *a)
{
	static const char *const bars[] = {"k3", "k5", "k0", "k6"};
	static const char *const meanings[] = {"before", "after: longer", "after: shorter",
					       "after: the change is below 2 % of the first bar"};
	enum { BAR = 9, LABEL = 260 };
	double most = 1;

	for (size_t i = 0; i < n; i++)
		most = NSX_MAX(most, NSX_MAX(v[i].before_ns, v[i].after_ns));
	nsx_buf_adds(b, "<h2>");
	nsx_html_text(b, title);
	nsx_buf_adds(b, "</h2>\n");
	nsx_svg_open(b, (int)n * ROW, "what it consists of, before and after");
	for (size_t i = 0; i < n; i++) {
		double scale = (COLUMNS - LABEL) / most, y = (double)i * ROW;
		const struct part *x = &v[i];
		double change_ns = x->after_ns - x->before_ns;
		unsigned way = fabs(change_ns) < NSX_NOISE * v->before_ns ? 3 :
			       change_ns > 0 ? 1 : 2;

		nsx_svg_label(b, 0, y + 14, x->name);
		nsx_svg_rect(b, bars[0], NSX_SVG_LEFT, y, x->before_ns * scale, BAR);
		nsx_svg_rect(b, bars[way], NSX_SVG_LEFT, y + BAR + 1, x->after_ns * scale, BAR);
		nsx_svg_label(b, NSX_SVG_LEFT + 6 +
				      scale * NSX_MAX(x->before_ns, x->after_ns), y + 14,
			      nsx_arena_printf(a, "%s → %s (%s)", nsx_text_ns(a, x->before_ns),
					       nsx_text_ns(a, x->after_ns),
					       nsx_text_change(a, change_ns)));
	}
	nsx_svg_close(b);
	nsx_svg_legend(b, bars, meanings, ARRAY_LEN(bars));
}

static void draw_totals(struct nsx_buf *b, const struct nsx_diff *d, struct nsx_arena *a)
{
	const struct nsx_totals *x = &d->totals.side[0], *y = &d->totals.side[1];
	struct part v[NSX_NTOTALS + 1] = {
		{"whole", (double)x->span_ns, (double)y->span_ns}};
	size_t n = 1;

	for (unsigned k = 0; k < NSX_NTOTALS; k++)
		if (x->ns[k] || y->ns[k])
			v[n++] = (struct part){nsx_total_names[k], (double)x->ns[k],
					       (double)y->ns[k]};
	draw_parts(b, "The whole run", v, n, a);
}

static void draw_budget(struct nsx_buf *b, const struct nsx_diff *d, uint32_t lane,
			struct nsx_arena *a)
{
	const struct nsx_budget *x = &d->lanes[lane].budget;
	struct part v[NSX_NSHARES + 1];
	size_t n = 0;

	for (unsigned k = 0; k <= NSX_NSHARES; k++) {
		const struct nsx_delta *part = k ? &x->part[k - 1] : &x->total;

		if (!k || part->before_ns || part->delta_ns)
			v[n++] = (struct part){
				k ? nsx_share_word(d, k - 1) : "all",
				(double)part->before_ns,
				(double)(part->before_ns + part->delta_ns)};
	}
	draw_parts(b, nsx_arena_printf(a, "Mean %s: %s", nsx_unit_word(d),
				       nsx_lane_name(d, lane, a)), v, n, a);
}

int nsx_diff_write_html(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_diff *d = ((const struct nsx_diff_output *)f->subject)
					   ->diff;
	struct nsx_buf pictures = {0}, markdown;
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	uint32_t *lanes;
	size_t n = nsx_diff_lanes(d, MOST_LANES, a, &lanes);

	if (d->totals.known)
		draw_totals(&pictures, d, a);
	if (!d->digested && !d->whole)
		draw_units(&pictures, d, lanes, n, a);
	for (size_t i = 0; i < n && !(d->whole && d->totals.known); i++)
		draw_budget(&pictures, d, lanes[i], a);
	if (n < d->nlanes)
		nsx_buf_printf(&pictures, "<p class=\"soft\">%zu more are "
					  "not drawn.</p>\n", d->nlanes - n);
	nsx_diff_md(d, NSX_DIFF_PAGE, &markdown);
	nsx_html_document("Before and after", &pictures, &markdown, out);
	return nsx_stopped(err);
}
