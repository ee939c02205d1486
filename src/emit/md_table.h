/* md_table.h - tables for people. */
#pragma once

#include "report/report.h"

/* Adds a table; an empty one is left out. report: its kernels are shown by label; NULL: all
 * names stay as they are.
 */
void nsx_md_add_table(struct nsx_buf *b, const struct nsx_block *block,
		      const struct nsx_report *report);

/* A column's heading without the unit, which the cells show; and a readable cell. a: scratch. */
void nsx_md_add_title(struct nsx_buf *b, const struct nsx_col *col);
void nsx_md_add_cell(struct nsx_buf *b, struct nsx_arena *a,
		     const struct nsx_col *col, const struct nsx_cell *c,
		     const struct nsx_report *report);
