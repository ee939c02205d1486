/* critical_path.h - what critical_path.c found, for the findings it proposes. */
#ifndef NSX_PASSES_CRITICAL_PATH_H
#define NSX_PASSES_CRITICAL_PATH_H

#include "passes/pass.h"

struct path_kernel { /* the kernel with the most time on the path */
	nsx_str name;	 /* 0: none                                           */
	int64_t ns, count;
	struct nsx_spans spans;
};

/* Proposes: the top kernel, uneven GPUs, idle time nothing else explains. */
int path_propose(const struct nsx_run *run, const struct path_kernel *top,
		 struct nsx_section *out, struct nsx_err *err);

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
