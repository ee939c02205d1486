/* launching.h - who launches, and what late launches cost; see launching.c. */
#ifndef NSX_PASSES_LAUNCHING_H
#define NSX_PASSES_LAUNCHING_H

#include "passes/pass.h"

enum { NSX_NLAUNCHER_COLS = 6 };
extern const struct nsx_col nsx_launcher_cols[NSX_NLAUNCHER_COLS];

/* Puts launch_calls, launch_bound_ms, per_iteration, and rows of the table of
 * launchers.  *ret_bound_ns: -1 where it is not known.
 */
int nsx_put_launching(const struct nsx_run *run, struct nsx_section *out,
		      struct nsx_table *launchers, int64_t *ret_bound_ns,
		      struct nsx_err *err) NSX_CHECKED;

#endif
