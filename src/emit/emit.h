/* emit.h - writes a finished report.
 *
 * Errors: NSX_E_IO; a full disk is only noticed when the caller flushes the stream.
 */
#pragma once

#include <stdio.h>
#include "emit/folder.h"
#include "report/report.h"

/* Writers of a report, which is f->subject. f->detail of the JSON writer is the folder whose other
 * files it lists; NULL: there are no other files.
 */
int nsx_write_json(const struct nsx_out_file *f, FILE *out, struct nsx_err *err);
int nsx_write_md(const struct nsx_out_file *f, FILE *out, struct nsx_err *err);
/* Headings of a report in their order; some have no content below them. */
size_t nsx_md_headings(const struct nsx_report *r, struct nsx_arena *a, const char *const **ret);
/* Writes a self-contained HTML page of at most r->html_bytes, with the events that the
 * report asks for.
 */
enum { NSX_HTML_BYTES = 8 << 20 };
int nsx_write_html(const struct nsx_out_file *f, FILE *out, struct nsx_err *err);
bool nsx_html_is(const char *path); /* whether a file is a page that this program wrote */
enum nsx_page_form { NSX_PAGE_MD, NSX_PAGE_PLAIN, NSX_PAGE_BOLD,
		     NSX_PAGE_HTML };
/* Writes OpenMetrics text of a whole report. */
int nsx_write_metrics(const struct nsx_out_file *f, FILE *out, struct nsx_err *err);
bool nsx_metrics_is(const char *path); /* whether a file is a text that nsx_write_metrics wrote */
/* Writes the first page as Markdown, as HTML, or as lines of at most 160 characters. */
void nsx_emit_page(const struct nsx_first_page *page, enum nsx_page_form form, struct nsx_buf *b);
/* Writes only the verdict of the first page, a sentence of Markdown; a: scratch. */
void nsx_emit_verdict(const struct nsx_first_page *page, struct nsx_arena *a, struct nsx_buf *b);
/* Writes the first page (f->subject) as JSON of at most NSX_BRIEF_BYTES; `schema-json
 * brief` describes its keys. Texts are plain, and cut to fit.
 */
enum { NSX_BRIEF_BYTES = 5 << 10 };
int nsx_write_brief(const struct nsx_out_file *f, FILE *out, struct nsx_err *err);
/* Writes one table, always with a header; t NULL: only the layout's header. A table with more than
 * max_rows rows (0: no limit) is cut to its most expensive rows, the rows in keep, and one row for
 * the rest, with sums where they are meaningful.
 */
struct nsx_bound {
	size_t max_rows, nkeep;
	const size_t *keep;
};
int nsx_emit_csv(const struct nsx_layout *layout, const struct nsx_table *t,
		 const struct nsx_bound *bound, FILE *out, struct nsx_err *err);
/* The rows that nsx_emit_csv writes, in its order: calls put for each. A row is valid until put
 * returns.
 */
typedef void (*nsx_put_row_fn)(void *ctx, const struct nsx_cell *row);
int nsx_emit_rows(const struct nsx_table *t, const struct nsx_bound *bound, nsx_put_row_fn put,
		  void *ctx, struct nsx_err *err);
/* Writes the rows of nsx_emit_csv as Parquet. */
int nsx_emit_parquet(const struct nsx_layout *layout, const struct nsx_table *t,
		     const struct nsx_bound *bound, FILE *out, struct nsx_err *err);
/* Like nsx_emit_parquet, for all rows of the table f->subject. */
int nsx_write_parquet(const struct nsx_out_file *f, FILE *out, struct nsx_err *err);
bool nsx_parquet_is(const char *path); /* whether a file is one that nsx_emit_parquet wrote */
/* Like nsx_emit_csv, for the table f->subject with the limit f->detail. */
int nsx_write_table(const struct nsx_out_file *f, FILE *out, struct nsx_err *err);
/* Adds the file tables/NAME.csv of a table to a folder's files, which must have room. */
void nsx_folder_add_table(struct nsx_folder *f, const struct nsx_table *t,
			  const struct nsx_bound *bound);
/* Writes the values and tables of one section as an object. */
int nsx_emit_json_section(const struct nsx_section *s, FILE *out, struct nsx_err *err);
struct nsx_jsonw;
void nsx_json_add_cell(struct nsx_jsonw *w, const char *key, struct nsx_cell c);
/* Adds a table as an array of objects, with as many rows as its layout says; t NULL: an
 * empty array.
 */
void nsx_json_add_table(struct nsx_jsonw *w, const char *key, const struct nsx_table *t);
/* Begins a document with its schema version (0: none), the program that wrote it, and the
 * time (NULL: none). Its root object is open.
 */
struct nsx_jsonw *nsx_json_document(int version, const char *generated_at);
/* Writes a single section as lines for a terminal, or as Markdown. */
void nsx_emit_plain_section(const struct nsx_section *s, struct nsx_buf *b);
void nsx_emit_md_section(const struct nsx_section *s, struct nsx_buf *b);
/* Writes {"error":{"code","message"}}. */
int nsx_emit_json_error(const struct nsx_err *e, FILE *out, struct nsx_err *err);

/* A report in several forms, and its tables (tables/). The JSON lists the other files, as
 * its detail is set to the folder.
 */
struct nsx_book {
	struct nsx_out_file md, html, json;
	const struct nsx_table *tables;
	size_t ntables;
	bool all_rows; /* write all rows of every table                      */
};
/* f must have dir, inputs and threads. Errors: those of nsx_folder_write. */
int nsx_emit_book(const struct nsx_book *book, struct nsx_folder f,
		  struct nsx_err *err) NSX_CHECKED;

/* Writes the whole folder: report.md, report.json, tables/, and report.html if html. Errors: those
 * of nsx_folder_write.
 */
int nsx_emit_folder(const struct nsx_report *r, const char *dir, bool html,
		    unsigned threads, struct nsx_err *err);
