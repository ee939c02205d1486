/* emit.h - writes a comparison. */
#pragma once

#include "base/str.h"
#include "diff/diff.h"
#include "emit/folder.h"
#include "emit/notices.h"

/* Tables: tables/diff_*.csv and the arrays of diff.json. */
enum nsx_diff_table { NSX_DT_BUDGET, NSX_DT_KERNELS, NSX_DT_NVTX,
		      NSX_DT_UNITS, NSX_DT_FINDINGS, NSX_DT_COMPARABILITY,
		      NSX_DT_GATES, NSX_DT_KINDS, NSX_NDT };
extern const struct nsx_layout nsx_diff_layouts[NSX_NDT];
struct nsx_diff_tables {
	struct nsx_table t[NSX_NDT];
};

/* Fills the tables. Of the kernels only max_rows rows are kept (0: all). Texts are on the arena of
 * d, which must outlive them. Owner: the caller, nsx_diff_tables_done, also after a failure.
 * Errors: NSX_E_NOMEM.
 */
int nsx_diff_tabulate(struct nsx_diff *d, size_t max_rows, struct nsx_diff_tables *ret,
		      struct nsx_err *err) NSX_CHECKED;
void nsx_diff_tables_done(struct nsx_diff_tables *t);

/* Texts of rows; owner: arena a. */

/* A share's name in column titles: "compute", "transfer", ... */
const char *nsx_share_word(const struct nsx_diff *d, enum nsx_share share);
/* Readable names of a row's kernels on one side, "a + b"; "": none. */
const char *nsx_row_label(const struct nsx_diff *d, unsigned side, uint32_t row,
			  struct nsx_arena *a);
/* "grid 80, block 128" of the first kernel; "": not known. */
const char *nsx_row_shape(const struct nsx_diff *d, uint32_t row, struct nsx_arena *a);
/* "grid 80 → 160, registers 64 → 96"; "": launches are alike. */
const char *nsx_row_changes(const struct nsx_diff *d, uint32_t row, struct nsx_arena *a);

/* Steps of an inference engine on both sides, by kind and size. */
struct nsx_kind_row { /* [0] before, [1] after */
	enum nsx_step_kind kind;
	const char *size; /* "32-63"; "": all sizes */
	int64_t count[2];
	double p50_ms[2]; /* median GPU time of the steps */
	double sizes[2]; /* sum of their requests or tokens; 0: unknown */
};
struct nsx_kind_rows { /* ordered by kind and size */
	struct nsx_kind_row *v;
	size_t n;
};
/* Collects the rows. If all steps are alike there are none, because the unit then shows them.
 * Owner: arena a.
 */
struct nsx_kind_rows nsx_diff_kinds(const struct nsx_diff *d, struct nsx_arena *a);
/* Change of the median as a ratio; NAN if a side has too few steps. */
double nsx_kind_change(const struct nsx_kind_row *r);
/* "Steps by kind, p50: decode +4 % at 32-63; prefill the same"; "" if nothing is certain. Owner:
 * arena a.
 */
const char *nsx_kinds_line(const struct nsx_diff *d, struct nsx_arena *a);

/* Text for people: a page, or a comment for a pull request. A comment has fewer than 60 000
 * characters, and its first line lets a bot find it again.
 */
enum nsx_diff_md { NSX_DIFF_PAGE, NSX_DIFF_COMMENT };
/* Owner: the caller, nsx_buf_done. */
void nsx_diff_md(const struct nsx_diff *d, enum nsx_diff_md what, struct nsx_buf *ret);

/* Writers of files (emit/folder.h). The subject is a struct nsx_diff_output. They write the page or
 * comment, the page with pictures (without scripts) and the JSON. The JSON file's detail is the
 * folder whose other files it lists, or NULL.
 */
struct nsx_diff_output {
	const struct nsx_diff *diff;
	struct nsx_diff_tables tables;
	bool all_rows; /* write all rows of tables/, however many */
	enum nsx_diff_md md;
};
int nsx_diff_write_md(const struct nsx_out_file *f, FILE *out, struct nsx_err *err) NSX_CHECKED;
int nsx_diff_write_html(const struct nsx_out_file *f, FILE *out, struct nsx_err *err) NSX_CHECKED;
int nsx_diff_write_json(const struct nsx_out_file *f, FILE *out, struct nsx_err *err) NSX_CHECKED;
/* Writes the folder: diff.md, diff.html, diff.json, tables/. */
int nsx_diff_emit_folder(const struct nsx_diff_output *o, const char *dir,
			 unsigned threads, struct nsx_err *err) NSX_CHECKED;

/* Parts of the page: the verdict in a sentence, findings that name causes, the place of the change
 * of the mean ("" if none), and a line about a gate. The first three are Markdown. Owner: arena a.
 */
const char *nsx_diff_headline(const struct nsx_diff *d, struct nsx_arena *a);
const char *nsx_diff_causes(const struct nsx_diff *d, struct nsx_arena *a);
const char *nsx_diff_place(const struct nsx_diff *d, struct nsx_arena *a);
const char *nsx_gate_line(const struct nsx_gate_row *g, struct nsx_arena *a);
/* The whole runs: "2.14 s instead of 4.03 s (−47.0 %)", and aligned lines about the work
 * done and its parts, "" if not known.
 */
const char *nsx_totals_sentence(const struct nsx_diff *d, struct nsx_arena *a);
const char *nsx_totals_lines(const struct nsx_diff *d, struct nsx_arena *a);
/* A line for each promise that was kept or not; "" if there are none. */
const char *nsx_diff_promises(const struct nsx_diff *d, struct nsx_arena *a);
const char *nsx_promise_line(const struct nsx_promise *p, struct nsx_arena *a);
/* The verdict and the gates as notices of a pipeline; lenient: undecided gates are
 * tolerated. Owner: arena a and the comparison.
 */
void nsx_diff_notices(const struct nsx_diff *d, bool lenient, struct nsx_arena *a,
		      struct nsx_notices *ret);
/* Chooses lanes to show, in order: all of them, or the `most` lanes with the largest changes of
 * their own. Returns how many.
 */
size_t nsx_diff_lanes(const struct nsx_diff *d, size_t most, struct nsx_arena *a, uint32_t **ret);
/* The lane whose rows are shown: the verdict's lane or, in a job, the lane with the largest change
 * of its own.
 */
uint32_t nsx_shown_lane(const struct nsx_diff *d);

/* Adds a name as a code span, so that it makes no mention, link or markup. */
void nsx_add_name(struct nsx_buf *b, const char *name);
/* Adds the label of a row of kernels, and the label after if it differs. */
void nsx_add_labels(struct nsx_buf *b, const struct nsx_diff *d, uint32_t row, struct nsx_arena *a);
const char *nsx_unit_word(const struct nsx_diff *d); /* "range", ... */
double nsx_level_of(const struct nsx_diff *d); /* level of intervals, in percent */
