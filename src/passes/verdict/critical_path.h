/* critical_path.h - the walk behind the critical path. */
#ifndef NSX_PASSES_CRITICAL_PATH_H
#define NSX_PASSES_CRITICAL_PATH_H

#include "passes/pass.h"

#define WALK_COLUMNS(X)                                                       \
	X(WALK_CLASS, "class", STR,                                           \
	  "compute, comm, copy; launch_to_start, dispatch (from one "         \
	  "operation to the next); call (that waits for nothing), wake (from " \
	  "the end of what a call waited for), queue_full, host (between "    \
	  "calls), outside (waiting for something else), unexplained")        \
	X(WALK_TOTAL_MS, "total_ms", F64, "time on the path")                 \
	X(WALK_PCT_OF_PATH, "pct_of_path", F64, "share of the path")
NSX_COLUMNS(walk_cols, WALK_COLUMNS);
/* Walks the judged window backwards (critical_walk.c). */
void path_walk(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_table *table);

#endif
