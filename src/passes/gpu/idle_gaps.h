/* idle_gaps.h - gaps as rows; see idle_gaps.c. */
#ifndef NSX_PASSES_IDLE_GAPS_H
#define NSX_PASSES_IDLE_GAPS_H

#include "passes/pass.h"

enum { NSX_NGAP_COLS = 8, NSX_NGAP_LENGTH_COLS = 4 };
extern const struct nsx_col nsx_gap_cols[NSX_NGAP_COLS];
extern const struct nsx_col nsx_gap_length_cols[NSX_NGAP_LENGTH_COLS];

int nsx_fill_gaps(const struct nsx_run *run, struct nsx_table *table,
		  struct nsx_table *lengths, struct nsx_err *err) NSX_CHECKED;

#endif
