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

/* Walks steady iterations of the limiting GPU backwards (critical_walk.c). */
int path_walk(const struct nsx_run *run, struct nsx_section *out,
	      struct nsx_table *table, struct nsx_err *err);

#endif
