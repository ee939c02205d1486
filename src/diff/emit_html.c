/* emit_html.c - the comparison as a page: pictures above the text of diff.md.
 *
 * Of each GPU a typical unit of either side, one above the other and begun
 * together; and what the change of the mean is made of.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "diff/emit.h"
#include "diff/words.h"
#include "emit/html/html.h"
#include "report/words.h"

enum {
	MOST_LANES = 16,
	COLUMNS = NSX_SVG_WIDTH - NSX_SVG_LEFT,
	ROW = 24,
};

/* How a kernel stands to the other side. */
enum standing { ALIKE, MATCHED, ALONE, NSTANDINGS };
static const char *const colours[] = {"k0", "k2", "k5", "k7"};
static const char *const standings[] = {
	"the same kernel on both sides", "another kernel in its place",
	"on this side only", "no kernel runs"};

static enum standing standing_of(const struct nsx_diff *d, unsigned side,
				 uint32_t kernel)
{
	uint32_t row = d->rows.row[side][kernel];

	if (row == NSX_NONE || d->rows.kind[row] >= NSX_M_REMOVED)
		return ALONE;
	return d->rows.kind[row] <= NSX_M_TEMPLATE ? ALIKE : MATCHED;
}

/* Of each column of the picture what takes most of it. */
static void draw_unit(struct nsx_buf *b, const struct nsx_diff *d,
		      unsigned side, const struct nsx_lane *l, double ns_a_column,
		      double y)
{
	double (*share)[NSTANDINGS] = nsx_alloc(COLUMNS, sizeof(*share));
	unsigned from = 0, was = NSTANDINGS;
	for (size_t i = 0; i < l->norder; i++) {
		const struct nsx_placed *p = &l->order[i];
		enum standing k = standing_of(d, side, p->kernel);
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
			nsx_svg_rect(b, colours[was], NSX_SVG_LEFT + from, y,
				     c - from, ROW - 6);
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
			longest = NSX_MAX(longest, (double)
				d->pool[s].lanes[lanes[l]].typical_ns);
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
			     COLUMNS * (double)x->typical_ns / longest,
			     ROW - 6);
		draw_unit(b, d, l % 2, x, longest / COLUMNS, l * ROW);
	}
	nsx_svg_close(b);
	nsx_svg_legend(b, colours, standings, ARRAY_LEN(colours));
	nsx_buf_printf(b, "<p class=\"soft\">The unit of median length; all of "
			  "the width is %s.</p>\n", nsx_text_ns(a, longest));
}

/* Mean before, each share's change, mean after. */
static void draw_waterfall(struct nsx_buf *b, const struct nsx_diff *d,
			   uint32_t lane, struct nsx_arena *a)
{
	const struct nsx_budget *x = &d->lanes[lane].budget;
	double at = (double)x->total.before_ns, most = NSX_MAX(at, 1), scale;
	int y = ROW;

	for (unsigned k = 0; k < NSX_NSHARES; k++) {
		at += (double)x->part[k].delta_ns;
		most = NSX_MAX(most, at);
	}
	at = (double)x->total.before_ns;
	scale = (COLUMNS - 120) / most; /* room for the last figure */
	nsx_svg_open(b, (NSX_NSHARES + 1 + d->splits_comm) * ROW,
		     "mean of a unit before, what was added and taken, and "
		     "after");
	nsx_svg_label(b, 0, 14, "before");
	nsx_svg_rect(b, "k3", NSX_SVG_LEFT, 0, at * scale, ROW - 6);
	nsx_svg_label(b, NSX_SVG_LEFT + at * scale + 4, 14, nsx_text_ns(a, at));
	for (unsigned k = 0; k < NSX_NSHARES; k++) {
		double delta = (double)x->part[k].delta_ns;
		double from = NSX_MIN(at, at + delta);

		if (k == NSX_SHARE_WAIT && !d->splits_comm)
			continue;
		nsx_svg_label(b, 0, y + 14, nsx_share_word(d, k));
		nsx_svg_rect(b, delta > 0 ? "k5" : "k0",
			     NSX_SVG_LEFT + from * scale, y,
			     NSX_MAX(fabs(delta) * scale, 1), ROW - 6);
		nsx_svg_label(b, NSX_SVG_LEFT + (from + fabs(delta)) * scale + 4,
			      y + 14, nsx_text_change(a, delta));
		at += delta;
		y += ROW;
	}
	nsx_svg_label(b, 0, y + 14, "after");
	nsx_svg_rect(b, "k3", NSX_SVG_LEFT, y, at * scale, ROW - 6);
	nsx_svg_label(b, NSX_SVG_LEFT + at * scale + 4, y + 14,
		      nsx_text_ns(a, at));
	nsx_svg_close(b);
}

int nsx_diff_write_html(const struct nsx_out_file *f, FILE *out,
			struct nsx_err *err)
{
	const struct nsx_diff *d = ((const struct nsx_diff_output *)f->subject)
					   ->diff;
	struct nsx_buf pictures = {0}, markdown;
	struct nsx_arena *a = nsx_arena_new();
	uint32_t *lanes;
	size_t n = nsx_diff_lanes(d, MOST_LANES, a, &lanes);

	if (!d->digested)
		draw_units(&pictures, d, lanes, n, a);
	for (size_t i = 0; i < n; i++) {
		nsx_buf_adds(&pictures, "<h2>From mean to mean: ");
		nsx_html_text(&pictures, nsx_lane_name(d, lanes[i], a));
		nsx_buf_adds(&pictures, "</h2>\n");
		draw_waterfall(&pictures, d, lanes[i], a);
	}
	if (n < d->nlanes)
		nsx_buf_printf(&pictures, "<p class=\"soft\">%zu more are "
					  "not drawn.</p>\n", d->nlanes - n);
	nsx_diff_md(d, NSX_DIFF_PAGE, &markdown);
	nsx_html_document("Before and after", &pictures, &markdown, out);
	nsx_arena_free(a);
	return nsx_stopped(err);
}
