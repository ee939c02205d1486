/* critical_path.h - the walk behind the critical path. */
#ifndef NSX_PASSES_CRITICAL_PATH_H
#define NSX_PASSES_CRITICAL_PATH_H

#include "passes/pass.h"

#define WALK_COLUMNS(X)                                                       \
	X(WALK_CLASS, "class", STR,                                           \
	  "compute, comm, copy, launch_call, launch_to_start, sync, host, "   \
	  "device_wait or unexplained")                                       \
	X(WALK_TOTAL_MS, "total_ms", F64,                                     \
	  "time on the path of the iterations explained")                     \
	X(WALK_PCT_OF_PATH, "pct_of_path", F64, "share of these iterations")
NSX_COLUMNS(walk_cols, WALK_COLUMNS);
/* Walks steady iterations of the limiting GPU backwards (critical_walk.c). */
int path_walk(const struct nsx_run *run, struct nsx_section *out,
	      struct nsx_table *table, struct nsx_err *err);

#endif
