/* idle_gaps.h - gaps as rows; see idle_gaps.c. */
#ifndef NSX_PASSES_IDLE_GAPS_H
#define NSX_PASSES_IDLE_GAPS_H

#include "passes/pass.h"

#define NSX_GAP_COLUMNS(X)                                                    \
	X(GAP_DEVICE, "device_id", I64, "CUDA ordinal")                       \
	X(GAP_START, "gap_start_ns", I64, "the device runs dry")              \
	X(GAP_END, "gap_end_ns", I64, "the next work starts")                 \
	X(GAP_MS, "gap_ms", F64, "its length")                                \
	X(GAP_CAUSE, "cause", STR, "the cause of its greatest part")          \
	X(GAP_DETAIL, "cause_detail", STR, "call or range of that part")      \
	X(GAP_OP, "next_op", STR, "the work that ends it")                    \
	X(GAP_PID, "pid", I64, "process of that work")
NSX_COLUMNS(nsx_gap_cols, NSX_GAP_COLUMNS);
#define NSX_GAP_LENGTH_COLUMNS(X)                                             \
	X(GAPS_DEVICE, "device_id", I64, "CUDA ordinal")                      \
	X(GAPS_LENGTH, "length", STR, "of a gap; edges are left out")         \
	X(GAPS_COUNT, "count", I64, "gaps")                                   \
	X(GAPS_MS, "total_ms", F64, "their sum")
NSX_COLUMNS(nsx_gap_length_cols, NSX_GAP_LENGTH_COLUMNS);

void nsx_fill_gaps(const struct nsx_run *run, struct nsx_table *table,
		   struct nsx_table *lengths);

#endif
