/* nsx/report.h - findings, sections and their tables; output files.
 *
 * A section is the result of one analysis and has its id. Sections are in the order of the
 * report. A table's key is its key in report.json ("kernels"), or its file name in tables/
 * if it is only there. Its columns have the names used in tables/. All rows are included.
 * Units are the suffixes of names: _ns, _us, _ms, _s, _pct, _bytes.
 *
 * What costs time is table `findings` of section `findings`, most expensive first, with prices,
 * evidence and recommendations as plain text.
 */
#ifndef NSX_PUBLIC_REPORT_H
#define NSX_PUBLIC_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <nsx/load.h>

#ifdef __cplusplus
extern "C" {
#endif

enum nsx_document {
	NSX_DOC_VERDICT, /* one sentence of Markdown                         */
	NSX_DOC_PAGE,	 /* the first page: lines of at most 160 characters  */
	NSX_DOC_BRIEF,	 /* the first page as JSON (`nsys-explain schema-json brief`):
			    verdict, findings, phases, steps                 */
	NSX_DOC_JSON,	 /* report.json                                      */
	NSX_DOC_MARKDOWN, /* report.md                                       */
};
/* The report as text. The first three documents exist only for a whole report. Errors:
 * USAGE (`only` was set, or there is no such document), MEMORY.
 */
NSX_API int nsx_result_document(struct nsx_result *r, enum nsx_document which,
				const char **ret, struct nsx_problem *problem);

/* The i-th warning about doubtful numbers, from 0; NULL at the end. */
NSX_API const char *nsx_result_warning(const struct nsx_result *r, size_t i);

/* The id of section i, from 0; NULL at the end. */
NSX_API const char *nsx_result_section(const struct nsx_result *r, size_t i);

/* Why the section could not be computed; NULL if it was; "" if there is no such section. */
NSX_API const char *nsx_result_reason(const struct nsx_result *r, const char *section);

struct nsx_rows;

/* A table of a section; NULL if there is none, or it was not computed. */
NSX_API const struct nsx_rows *nsx_result_rows(const struct nsx_result *r, const char *section,
					       const char *key);
/* Table i of a section, from 0, NULL at the end; and the key of a table. */
NSX_API const struct nsx_rows *nsx_result_table(const struct nsx_result *r,
						const char *section, size_t i);
NSX_API const char *nsx_rows_key(const struct nsx_rows *t);
NSX_API size_t nsx_rows_count(const struct nsx_rows *t);

enum nsx_cell_type {
	NSX_CELL_NULL, /* unknown: never replaced by zero */
	NSX_CELL_INT,
	NSX_CELL_REAL,
	NSX_CELL_TEXT,
	NSX_CELL_BOOL,
	NSX_CELL_OTHER, /* a list or a table, which only JSON has */
};

/* Index of a column by name; -1 if there is none. */
NSX_API int nsx_rows_column(const struct nsx_rows *t, const char *name);
/* The name of column c, from 0, NULL at the end; and its meaning in one sentence. */
NSX_API const char *nsx_rows_name(const struct nsx_rows *t, int c);
NSX_API const char *nsx_rows_help(const struct nsx_rows *t, int c);

/* Cells. Row and column must exist. A cell of another type gives 0, false or "";
 * nsx_rows_real also takes integers.
 */
NSX_API enum nsx_cell_type nsx_rows_type(const struct nsx_rows *t, size_t row, int c);
NSX_API int64_t nsx_rows_int(const struct nsx_rows *t, size_t row, int c);
NSX_API double nsx_rows_real(const struct nsx_rows *t, size_t row, int c);
NSX_API const char *nsx_rows_text(const struct nsx_rows *t, size_t row, int c);
NSX_API bool nsx_rows_bool(const struct nsx_rows *t, size_t row, int c);

/* Writes a table as Parquet; replaces only files that this library wrote. Errors: IO, MEMORY,
 * STOPPED.
 */
NSX_API int nsx_rows_parquet(const struct nsx_rows *t, const char *path,
			     struct nsx_problem *problem);

/* Copies a table into a stream of Apache Arrow's C interface, which declares the struct. The stream
 * needs neither the table nor its result. Free: its own release.
 */
struct ArrowArrayStream;
NSX_API void nsx_rows_arrow(const struct nsx_rows *t, struct ArrowArrayStream *ret);

/* Writes the report folder like `nsys-explain --out DIR`; replaces no file of the user.
 * Errors: IO, MEMORY, STOPPED.
 */
NSX_API int nsx_result_write(const struct nsx_result *r, const char *dir,
			     struct nsx_problem *problem);

#ifdef __cplusplus
}
#endif

#endif
