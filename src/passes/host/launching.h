/* launching.h - who launches, and what late launches cost; see launching.c. */
#ifndef NSX_PASSES_LAUNCHING_H
#define NSX_PASSES_LAUNCHING_H

#include "passes/pass.h"

#define NSX_LAUNCHER_COLUMNS(X)                                               \
	X(LAUNCHER_PID, "pid", I64, "process")                                \
	X(LAUNCHER_TID, "tid", I64, "thread that launches")                   \
	X(LAUNCHER_DEVICE, "device_id", I64, "CUDA ordinal")                  \
	X(LAUNCHER_CALLS, "launch_calls", I64,                                \
	  "calls that caused GPU work there")                                 \
	X(LAUNCHER_OPS, "gpu_ops", I64,                                       \
	  "kernels, copies and memsets they caused")                          \
	X(LAUNCHER_BOUND, "launch_bound_ms", F64,                             \
	  "device idle time below 1 ms a gap that ended when such a call "    \
	  "returned")
NSX_COLUMNS(nsx_launcher_cols, NSX_LAUNCHER_COLUMNS);

/* Puts launch_calls, launch_bound_ms, per_iteration, and rows of the table of
 * launchers.  *ret_bound_ns: -1 where it is not known.
 */
int nsx_put_launching(const struct nsx_run *run, struct nsx_section *out,
		      struct nsx_table *launchers, int64_t *ret_bound_ns,
		      struct nsx_err *err) NSX_CHECKED;

#endif
