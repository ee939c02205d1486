/* emit.h - writes a finished report.
 *
 * Errors: NSX_E_IO; whoever opened the stream learns of a full disk when it is
 * flushed.
 */
#ifndef NSX_EMIT_H
#define NSX_EMIT_H

#include <stdio.h>
#include "emit/folder.h"
#include "report/report.h"

/* Writers of a report, their subject.  The detail of JSON is the folder whose
 * other files are listed; NULL: none are written.
 */
int nsx_write_json(const struct nsx_out_file *f, FILE *out,
		   struct nsx_err *err);
int nsx_write_md(const struct nsx_out_file *f, FILE *out, struct nsx_err *err);
/* Headings of a report in their order; some have nothing below them. */
size_t nsx_md_headings(const struct nsx_report *r, struct nsx_arena *a,
		       const char *const **ret);
/* One page, of r->html_bytes at most, with the events that it asks for. */
enum { NSX_HTML_BYTES = 8 << 20 };
int nsx_write_html(const struct nsx_out_file *f, FILE *out,
		   struct nsx_err *err);
bool nsx_html_is(const char *path); /* whether a file is such a page */
enum nsx_page_form { NSX_PAGE_MD, NSX_PAGE_PLAIN, NSX_PAGE_BOLD,
		     NSX_PAGE_HTML };
/* OpenMetrics text of a whole report. */
int nsx_write_metrics(const struct nsx_out_file *f, FILE *out,
		      struct nsx_err *err);
bool nsx_metrics_is(const char *path); /* whether a file is such a text */
/* The first page: Markdown, or lines of at most 160 characters. */
void nsx_emit_page(const struct nsx_first_page *page, enum nsx_page_form form,
		   struct nsx_buf *b);
/* Its verdict alone, a sentence of Markdown; a: scratch. */
void nsx_emit_verdict(const struct nsx_first_page *page, struct nsx_arena *a,
		      struct nsx_buf *b);
/* The same page, the subject, as JSON of at most NSX_BRIEF_BYTES: `schema-json brief`
 * tells its keys.  Texts are plain, and cut so that all fits.
 */
enum { NSX_BRIEF_BYTES = 5 << 10 };
int nsx_write_brief(const struct nsx_out_file *f, FILE *out,
		    struct nsx_err *err);
/* One table; header always. t NULL: the layout's header only. Of more than
 * max_rows rows (0: no bound) the dearest, those that stand in keep,
 * and one row for the rest, with sums where sums mean something.
 */
struct nsx_bound {
	size_t max_rows, nkeep;
	const size_t *keep;
};
int nsx_emit_csv(const struct nsx_layout *layout, const struct nsx_table *t,
		 const struct nsx_bound *bound, FILE *out, struct nsx_err *err);
/* The same of the subject, a table; the detail is the bound. */
int nsx_write_table(const struct nsx_out_file *f, FILE *out,
		    struct nsx_err *err);
/* Lists tables/NAME.csv of the table among the files, which have room for it. */
void nsx_folder_add_table(struct nsx_folder *f, const struct nsx_table *t,
			  const struct nsx_bound *bound);
/* The values and tables of one section, as an object. */
int nsx_emit_json_section(const struct nsx_section *s, FILE *out,
			  struct nsx_err *err);
/* A table as an array of objects, as many rows as its layout says; t NULL: an
 * empty one.
 */
struct nsx_jsonw;
void nsx_json_add_table(struct nsx_jsonw *w, const char *key,
			const struct nsx_table *t);
/* A document with what each begins with: its schema's version (0: none), who wrote
 * it and when (NULL: not told).  Its object is open.
 */
struct nsx_jsonw *nsx_json_document(int version, const char *generated_at);
/* A section by itself: lines for a terminal, or Markdown. */
void nsx_emit_plain_section(const struct nsx_section *s, struct nsx_buf *b);
void nsx_emit_md_section(const struct nsx_section *s, struct nsx_buf *b);
/* {"error":{"code","message"}} */
int nsx_emit_json_error(const struct nsx_err *e, FILE *out,
			struct nsx_err *err);

/* What is told as text, as a page and as JSON, and its tables: tables/.  The JSON
 * lists the others, for its detail becomes the folder.
 */
struct nsx_book {
	struct nsx_out_file md, html, json;
	const struct nsx_table *tables;
	size_t ntables;
	bool all_rows; /* of tables, however many                            */
};
/* f: dir, inputs and threads. Errors: as of nsx_folder_write. */
int nsx_emit_book(const struct nsx_book *book, struct nsx_folder f,
		  struct nsx_err *err) NSX_CHECKED;

/* The whole folder: report.md, report.json, tables/. Errors: as of
 * nsx_folder_write.
 */
int nsx_emit_folder(const struct nsx_report *r, const char *dir, bool html,
		    unsigned threads, struct nsx_err *err);

#endif
