/* tables.h - a comparison as typed tables: tables/diff_*.csv and the arrays of diff.json. */
#ifndef NSX_DIFF_TABLES_H
#define NSX_DIFF_TABLES_H

#include "diff/diff.h"
#include "diff/words.h"

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

#endif
