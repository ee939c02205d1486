/* report_html.c - the fleet report as a page. Above its text stands a map of ranks and
 * steps: a late rank shows as a line, a late step as a column.
 */
#include <math.h>
#include "base/stat.h"
#include "emit/html/html.h"
#include "fleet/report.h"

enum {
	MOST_ROWS = 24,	    /* ranks drawn: those with the greatest excess */
	MOST_COLUMNS = 445, /* two units wide; a column of several steps shows the worst */
	HEIGHT = 14,	    /* height of a row */
	NLEVELS = 5,
};
/* Least excess of each level, relative to the step. */
static const double levels[NLEVELS] = {0.01, 0.02, 0.05, 0.1, 0.2};
static const char *const opacity[NLEVELS] = {".2", ".4", ".6", ".8", "1"};

struct map {
	const struct nsx_fleet *f;
	const uint32_t *rank; /* by row: the latest first */
	size_t nrows, ncolumns;
	double *excess; /* by column and row: own time above the step's median, relative to
			   the step; the greatest of the column's steps */
};

static void fill_map(struct map *m, struct nsx_arena *a)
{
	const struct nsx_fleet *f = m->f;
	double *scratch = nsx_arena_get(a, f->nranks * sizeof(*scratch));

	m->ncolumns = NSX_MIN(f->nsteps, (size_t)MOST_COLUMNS);
	m->excess = nsx_arena_get(a, m->ncolumns * m->nrows * sizeof(*m->excess));
	for (size_t s = 0; s < f->nsteps; s++) {
		const double *own = &f->own_ns[s * f->nranks];
		size_t column = s * m->ncolumns / f->nsteps;
		double median = nsx_median_of(scratch, nsx_own_of(f, s, NULL, scratch));

		for (size_t i = 0; i < m->nrows; i++) {
			double *x = &m->excess[column * m->nrows + i];
			double ns = own[m->rank[i]];

			if (!isnan(ns))
				*x = NSX_MAX(*x, (ns - median) / f->step_ns);
		}
	}
}

/* Draws a path for each level; neighbouring steps of a level are one piece. */
static void report_html_draw(struct nsx_buf *b, const struct map *m)
{
	double w = (double)(NSX_SVG_WIDTH - NSX_SVG_LEFT) / (double)m->ncolumns;

	for (unsigned k = 0; k < NLEVELS; k++) {
		double most = k + 1 < NLEVELS ? levels[k + 1] : INFINITY;

		nsx_buf_printf(b, "<path class=\"k5\" fill-opacity=\"%s\" d=\"", opacity[k]);
		for (size_t i = 0; i < m->nrows; i++)
			for (size_t c = 0, end; c < m->ncolumns; c = end + 1) {
				for (end = c; end < m->ncolumns &&
				     m->excess[end * m->nrows + i] >= levels[k] &&
				     m->excess[end * m->nrows + i] < most;)
					end++;
				if (end > c)
					nsx_buf_printf(b, "M%.1f %dh%.1fv%dh%.1fz",
						       NSX_SVG_LEFT + (double)c * w,
						       (int)i * HEIGHT, (double)(end - c) * w,
						       HEIGHT - 1, -(double)(end - c) * w);
			}
		nsx_buf_adds(b, "\"/>");
	}
}

static void draw_map(struct nsx_buf *b, const struct nsx_fleet *f)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct map m = {.f = f, .rank = nsx_latest_ranks(f, a),
			.nrows = NSX_MIN(f->nranks, (uint32_t)MOST_ROWS)};

	fill_map(&m, a);
	nsx_buf_adds(b, "<h2>Ranks and steps</h2>\n");
	nsx_svg_open(b, (int)m.nrows * HEIGHT + 4, "own time of each rank in each "
		     "step over the step's median");
	nsx_svg_rect(b, "k7", NSX_SVG_LEFT, 0, NSX_SVG_WIDTH - NSX_SVG_LEFT,
		     (double)m.nrows * HEIGHT);
	report_html_draw(b, &m);
	for (size_t i = 0; i < m.nrows; i++)
		nsx_svg_label(b, 0, (double)i * HEIGHT + 11,
			      nsx_arena_printf(a, "rank %lld", (long long)
					       f->rank[m.rank[i]].number));
	nsx_svg_close(b);
	nsx_buf_printf(b, "<p class=\"soft\">A row is a rank, the latest first; from left to right "
			  "go %zu steps. Red is own time over the median rank's in that step, from "
			  "1 %% of a step on, full from 20 %% on.%s</p>\n", f->nsteps,
		       m.nrows < f->nranks ? " Of all ranks those of the greatest excess are "
					     "drawn." : "");
}

int nsx_freport_write_html(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_freport *r = f->subject;
	struct nsx_buf pictures = {0}, markdown = {0};

	if (r->f->nsteps && r->f->nranks && r->f->step_ns > 0)
		draw_map(&pictures, r->f);
	nsx_freport_text(r, &markdown);
	nsx_html_document(nsx_arena_printf(r->arena, "%u ranks", r->f->nranks),
			  &pictures, &markdown, out);
	return nsx_stopped(err);
}
