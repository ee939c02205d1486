/* html.h - shared by the files that write HTML pages.
 *
 * A page is one file. Style and script are constant, and its content security policy names
 * them by hash. Names are escaped where they are written, and data is stored in scripts
 * that are not executed.
 */
#pragma once

#include <stdio.h>
#include "base/str.h"
#include "report/timeline.h"

/* Contents of page.css and page.js, and their SHA-256 in base64. */
extern const char nsx_page_css[], nsx_page_js[];
extern const char nsx_page_css_sha256[], nsx_page_js_sha256[];

/* Begins the page, up to <body>. If the page has no script, its policy forbids all scripts. */
void nsx_html_head(struct nsx_buf *b, const char *title, bool has_script);
/* Writes a whole page from the program's own Markdown. pictures (HTML) go before its first
 * second-level heading. Frees both buffers.
 */
void nsx_html_document(const char *title, struct nsx_buf *pictures,
		       struct nsx_buf *markdown, FILE *out);

/* Adds text without markup; makes characters visible that hide or reverse it. */
void nsx_html_text(struct nsx_buf *b, const char *s);
void nsx_html_textn(struct nsx_buf *b, const char *s, size_t n);
/* Adds a line of our Markdown: code spans, bold, escapes. */
void nsx_html_inline(struct nsx_buf *b, const char *markdown);

/* Adds lines of the first page (emit/page.c). HEAD: title, header and verdict. SUM: the sum of all
 * remedies, what is fine, trust, and what is missing. PRICE: the price of finding f. PROOF: its
 * place and evidence.
 */
enum nsx_page_part { NSX_PAGE_HEAD, NSX_PAGE_SUM, NSX_PAGE_PRICE, NSX_PAGE_PROOF };
void nsx_html_page(struct nsx_buf *b, enum nsx_page_part part, const struct nsx_first_page *x,
		   const struct nsx_finding *f);

/* Sections and tables (body.c). nsx_html_table is the number of a table, whose anchor is
 * t-NUMBER. nsx_html_has_cell tells whether a proof's cell is on the page, with the anchor
 * e-FINDING-PROOF of the first proof that cites it.
 */
unsigned nsx_html_table(const struct nsx_report *r, const struct nsx_table *t);
bool nsx_html_has_cell(const struct nsx_report *r, const struct nsx_evidence *e,
		       size_t *ret_finding, size_t *ret_proof);
void nsx_html_sections(struct nsx_buf *b, const struct nsx_report *r);

/* Pictures (svg.c); they add nothing if there is nothing to show. a: scratch. */
void nsx_svg_overview(struct nsx_buf *b, const struct nsx_report *r, const struct nsx_timeline *t);
void nsx_svg_waterfall(struct nsx_buf *b, const struct nsx_report *r, struct nsx_arena *a);
void nsx_svg_idle(struct nsx_buf *b, const struct nsx_report *r, struct nsx_arena *a);
void nsx_svg_iterations(struct nsx_buf *b, const struct nsx_report *r, struct nsx_arena *a);
void nsx_svg_ranks(struct nsx_buf *b, const struct nsx_report *r, struct nsx_arena *a);
void nsx_svg_curves(struct nsx_buf *b, const struct nsx_report *r, struct nsx_arena *a);

/* Parts of pictures, which are 1 000 units wide. Colours are classes of page.css. */
enum { NSX_SVG_WIDTH = 1000, NSX_SVG_LEFT = 110 };
void nsx_svg_open(struct nsx_buf *b, int height, const char *title);
void nsx_svg_close(struct nsx_buf *b);
void nsx_svg_rect(struct nsx_buf *b, const char *colour, double x, double y, double w, double h);
void nsx_svg_label(struct nsx_buf *b, double x, double y, const char *text);
void nsx_svg_legend(struct nsx_buf *b, const char *const *colours,
		    const char *const *titles, size_t n);

/* Data for the script (data.c): inert JSON, and packed events. */
int nsx_html_data(struct nsx_buf *b, const struct nsx_report *r,
		  const struct nsx_timeline *t, struct nsx_err *err);
/* Whether all data may fit in `most` bytes, judged by its names alone. */
bool nsx_html_data_may_fit(const struct nsx_report *r, const struct nsx_timeline *t, size_t most);
