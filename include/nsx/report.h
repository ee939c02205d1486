/* nsx/report.h - what was found, sections and their tables; files.
 *
 * A section is what one analysis found; its id is the analysis's.  Sections
 * stand in the order of the report.  A table of a section has the key it has in
 * report.json ("kernels"), or where it is in tables/ alone its file's name
 * there, its columns the names they have in tables/.  All rows are there.  Units
 * are the ends of names: _ns, _us, _ms, _s, _pct, _bytes.
 *
 * What costs time is the table `findings` of the section `findings`, dearest
 * first, with prices, evidence and recommendation as plain text.
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
	NSX_DOC_BRIEF,	 /* the same as JSON (`nsys-explain schema-json brief`):
			    verdict, findings, phases, steps                 */
	NSX_DOC_JSON,	 /* report.json                                      */
	NSX_DOC_MARKDOWN, /* report.md                                       */
};
/* The report as a text. The first three are of a whole report only.
 * Errors: USAGE (`only` was set, or there is no such document), MEMORY.
 */
NSX_API int nsx_result_document(struct nsx_result *r, enum nsx_document which,
				const char **ret, struct nsx_problem *problem);

/* What makes numbers doubtful, in words. i from 0; NULL: no more. */
NSX_API const char *nsx_result_warning(const struct nsx_result *r, size_t i);

/* The id of section i from 0; NULL: no more. */
NSX_API const char *nsx_result_section(const struct nsx_result *r, size_t i);

/* Why the section could not be computed; NULL: it was; "" if there is none. */
NSX_API const char *nsx_result_reason(const struct nsx_result *r,
				      const char *section);

struct nsx_rows;

/* A table of a section; NULL: there is none, or it was not computed. */
NSX_API const struct nsx_rows *nsx_result_rows(const struct nsx_result *r,
					       const char *section,
					       const char *key);
/* Its table i from 0; NULL: no more. The key by which it is asked for. */
NSX_API const struct nsx_rows *nsx_result_table(const struct nsx_result *r,
						const char *section, size_t i);
NSX_API const char *nsx_rows_key(const struct nsx_rows *t);
NSX_API size_t nsx_rows_count(const struct nsx_rows *t);

enum nsx_cell_type {
	NSX_CELL_NULL, /* not known: never a zero in its place */
	NSX_CELL_INT,
	NSX_CELL_REAL,
	NSX_CELL_TEXT,
	NSX_CELL_BOOL,
	NSX_CELL_OTHER, /* a list or a table: in JSON only */
};

/* The number of a column, by name; -1: there is none. */
NSX_API int nsx_rows_column(const struct nsx_rows *t, const char *name);
/* The name of column c from 0; NULL: no more. What it means, in one sentence. */
NSX_API const char *nsx_rows_name(const struct nsx_rows *t, int c);
NSX_API const char *nsx_rows_help(const struct nsx_rows *t, int c);

/* A cell. Row and column must be of the table. A cell of another type gives 0,
 * false or ""; nsx_rows_real takes integers, too.
 */
NSX_API enum nsx_cell_type nsx_rows_type(const struct nsx_rows *t, size_t row,
					 int c);
NSX_API int64_t nsx_rows_int(const struct nsx_rows *t, size_t row, int c);
NSX_API double nsx_rows_real(const struct nsx_rows *t, size_t row, int c);
NSX_API const char *nsx_rows_text(const struct nsx_rows *t, size_t row, int c);
NSX_API bool nsx_rows_bool(const struct nsx_rows *t, size_t row, int c);

/* Writes the report folder, as `nsys-explain --out DIR` does: nothing of the
 * user's is replaced.  Errors: IO.
 */
NSX_API int nsx_result_write(const struct nsx_result *r, const char *dir,
			     struct nsx_problem *problem);

#ifdef __cplusplus
}
#endif

#endif
