/* md_table.h - tables as people read them. */
#ifndef NSX_MD_TABLE_H
#define NSX_MD_TABLE_H

#include "report/report.h"

/* A table without rows is left out.  report: whose kernels are shown by their
 * labels; NULL: names stay as they are.
 */
void nsx_md_add_table(struct nsx_buf *b, const struct nsx_block *block,
		      const struct nsx_report *report);

/* A column's heading without its unit, which its cells have; a cell as a person
 * reads it.  a: scratch.
 */
void nsx_md_add_title(struct nsx_buf *b, const struct nsx_col *col);
void nsx_md_add_cell(struct nsx_buf *b, struct nsx_arena *a,
		     const struct nsx_col *col, const struct nsx_cell *c,
		     const struct nsx_report *report);

#endif
