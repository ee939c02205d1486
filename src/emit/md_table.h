/* md_table.h - tables as people read them. */
#ifndef NSX_MD_TABLE_H
#define NSX_MD_TABLE_H

#include "base/group.h"
#include "report/report.h"

/* Labels of kernels by the hash of their full names: what a cell shows in place
 * of the name.
 */
struct nsx_md_labels {
	struct nsx_groups by_hash;
	const char **label;
};
void nsx_md_labels(const struct nsx_report *r, struct nsx_md_labels *ret);
void nsx_md_labels_done(struct nsx_md_labels *l);

/* A table without rows is left out. */
void nsx_md_add_table(struct nsx_buf *b, const struct nsx_block *block,
		      const struct nsx_md_labels *labels);

/* A column's heading without its unit, which its cells have; a cell as a person
 * reads it.  a: scratch.
 */
void nsx_md_add_title(struct nsx_buf *b, const struct nsx_col *col);
void nsx_md_add_cell(struct nsx_buf *b, struct nsx_arena *a,
		     const struct nsx_col *col, const struct nsx_cell *c,
		     const struct nsx_md_labels *labels);

#endif
