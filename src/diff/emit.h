/* emit.h - writes a comparison. */
#ifndef NSX_DIFF_EMIT_H
#define NSX_DIFF_EMIT_H

#include "base/str.h"
#include "diff/tables.h"
#include "emit/folder.h"
#include "emit/notices.h"

/* For people: a page, or a comment for a pull request, below 60 000 characters,
 * with a first line by which a bot finds its own comment again.
 */
enum nsx_diff_md { NSX_DIFF_PAGE, NSX_DIFF_COMMENT };
/* Owner: the caller, nsx_buf_done. */
void nsx_diff_md(const struct nsx_diff *d, enum nsx_diff_md what,
		 struct nsx_buf *ret);

/* Writers of files (emit/folder.h), whose subject is a struct nsx_diff_output:
 * the page, the comment, the page with pictures, which needs no script; and the
 * JSON, whose detail is the folder whose other files are listed, if any.
 */
struct nsx_diff_output {
	const struct nsx_diff *diff;
	struct nsx_diff_tables tables;
	bool all_rows; /* of tables/, however many                           */
};
int nsx_diff_write_md(const struct nsx_out_file *f, FILE *out,
		      struct nsx_err *err) NSX_CHECKED;
int nsx_diff_write_comment(const struct nsx_out_file *f, FILE *out,
			   struct nsx_err *err) NSX_CHECKED;
int nsx_diff_write_html(const struct nsx_out_file *f, FILE *out,
			struct nsx_err *err) NSX_CHECKED;
int nsx_diff_write_json(const struct nsx_out_file *f, FILE *out,
			struct nsx_err *err) NSX_CHECKED;
/* The folder: diff.md, diff.html, diff.json, tables/. */
int nsx_diff_emit_folder(const struct nsx_diff_output *o, const char *dir,
			 unsigned threads, struct nsx_err *err) NSX_CHECKED;

/* The verdict in a sentence; findings that name causes, and where the change of
 * the mean is, "" where there is none (all three Markdown); and a line on a gate;
 * on arena a.
 */
const char *nsx_diff_headline(const struct nsx_diff *d, struct nsx_arena *a);
const char *nsx_diff_causes(const struct nsx_diff *d, struct nsx_arena *a);
const char *nsx_diff_place(const struct nsx_diff *d, struct nsx_arena *a);
const char *nsx_gate_line(const struct nsx_gate_row *g, struct nsx_arena *a);
/* The wholes: "2.14 s instead of 4.03 s (−47.0 %)"; and lines of text on what was done and in what
 * parts, aligned as columns, "" where they are not known.
 */
const char *nsx_totals_sentence(const struct nsx_diff *d, struct nsx_arena *a);
const char *nsx_totals_lines(const struct nsx_diff *d, struct nsx_arena *a);
/* Of what became shorter a line each; "" none. */
const char *nsx_diff_promises(const struct nsx_diff *d, struct nsx_arena *a);
const char *nsx_promise_line(const struct nsx_promise *p, struct nsx_arena *a);
/* The verdict and the gates for a pipeline; lenient: what is undecided is tolerated.
 * Owner: arena a, and the comparison.
 */
void nsx_diff_notices(const struct nsx_diff *d, bool lenient, struct nsx_arena *a,
		      struct nsx_notices *ret);
/* Lanes to show: all of them in order; of more than most those that change most
 * by themselves.  Returns how many.
 */
size_t nsx_diff_lanes(const struct nsx_diff *d, size_t most,
		      struct nsx_arena *a, uint32_t **ret);
/* The one whose rows are shown: that of the verdict, of a job the one that changes
 * most by itself.
 */
uint32_t nsx_shown_lane(const struct nsx_diff *d);

/* Always in a code span: no mention, no link, no markup. */
void nsx_add_name(struct nsx_buf *b, const char *name);
/* What a row of kernels is called, and what it became. */
void nsx_add_labels(struct nsx_buf *b, const struct nsx_diff *d, uint32_t row,
		    struct nsx_arena *a);
const char *nsx_unit_word(const struct nsx_diff *d); /* "range", ...         */
double nsx_level_of(const struct nsx_diff *d); /* of intervals, in percent   */

#endif
