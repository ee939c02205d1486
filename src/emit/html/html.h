/* html.h - what the files that write a page share.
 *
 * A page is one file: the style and the script are constant and named by their
 * hashes in its content security policy, names are escaped where they are
 * written, and data stands in scripts that nothing runs.
 */
#ifndef NSX_HTML_H
#define NSX_HTML_H

#include <stdio.h>
#include "base/str.h"
#include "report/timeline.h"

/* page.css and page.js, and their SHA-256 in base64. */
extern const char nsx_page_css[], nsx_page_js[];
extern const char nsx_page_css_sha256[], nsx_page_js_sha256[];

/* Up to <body>; without a script none may run. */
void nsx_html_head(struct nsx_buf *b, const char *title, bool has_script);
/* Writes a whole page of our own Markdown; pictures, which are HTML, stand before
 * its first heading of the second level.  Both are done with.
 */
void nsx_html_document(const char *title, struct nsx_buf *pictures,
		       struct nsx_buf *markdown, FILE *out);

/* Text: nothing in it is markup; characters that hide or turn it are shown. */
void nsx_html_text(struct nsx_buf *b, const char *s);
void nsx_html_textn(struct nsx_buf *b, const char *s, size_t n);
/* A line of our Markdown: code spans, bold, escapes. */
void nsx_html_inline(struct nsx_buf *b, const char *markdown);

/* The first page's lines (emit/page.c): title, header and verdict; what all
 * remedies win together, what is fine, trust, what is missing; the price of one
 * finding, and where it is with what proves it.
 */
void nsx_html_page_head(struct nsx_buf *b, const struct nsx_first_page *x);
void nsx_html_page_sum(struct nsx_buf *b, const struct nsx_first_page *x);
void nsx_html_page_price(struct nsx_buf *b, const struct nsx_first_page *x,
			 const struct nsx_finding *f);
void nsx_html_page_proof(struct nsx_buf *b, const struct nsx_finding *f);

/* Sections and their tables (body.c); the number of a table, whose place in the
 * page is t-NUMBER; whether a proof's cell is in the page, as e-FINDING-PROOF of
 * the first that it proves.
 */
unsigned nsx_html_table(const struct nsx_report *r, const struct nsx_table *t);
bool nsx_html_has_cell(const struct nsx_report *r, const struct nsx_evidence *e,
		       size_t *ret_finding, size_t *ret_proof);
void nsx_html_sections(struct nsx_buf *b, const struct nsx_report *r);

/* Pictures (svg.c): nothing where there is nothing to show; a: scratch. */
void nsx_svg_overview(struct nsx_buf *b, const struct nsx_report *r,
		      const struct nsx_timeline *t);
void nsx_svg_waterfall(struct nsx_buf *b, const struct nsx_report *r,
		       struct nsx_arena *a);
void nsx_svg_idle(struct nsx_buf *b, const struct nsx_report *r,
		  struct nsx_arena *a);
void nsx_svg_iterations(struct nsx_buf *b, const struct nsx_report *r,
			struct nsx_arena *a);
void nsx_svg_ranks(struct nsx_buf *b, const struct nsx_report *r,
		   struct nsx_arena *a);
void nsx_svg_curves(struct nsx_buf *b, const struct nsx_report *r,
		    struct nsx_arena *a);

/* Pieces of pictures: 1 000 units wide; colours are classes of page.css. */
enum { NSX_SVG_WIDTH = 1000, NSX_SVG_LEFT = 110 };
void nsx_svg_open(struct nsx_buf *b, int height, const char *title);
void nsx_svg_close(struct nsx_buf *b);
void nsx_svg_rect(struct nsx_buf *b, const char *colour, double x, double y,
		  double w, double h);
void nsx_svg_label(struct nsx_buf *b, double x, double y, const char *text);
void nsx_svg_legend(struct nsx_buf *b, const char *const *colours,
		    const char *const *titles, size_t n);

/* What the script reads (data.c): the inert JSON, and the events, packed. */
int nsx_html_data(struct nsx_buf *b, const struct nsx_report *r,
		  const struct nsx_timeline *t, struct nsx_err *err);
/* Whether all of it may take no more bytes, by its names alone. */
bool nsx_html_data_may_fit(const struct nsx_report *r,
			   const struct nsx_timeline *t, size_t most);

#endif
