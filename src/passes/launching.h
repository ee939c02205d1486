/* launching.h - who launches, and what late launches cost; see launching.c. */
#ifndef NSX_PASSES_LAUNCHING_H
#define NSX_PASSES_LAUNCHING_H

#include "nsx/pass.h"

/* Puts launch_calls, launch_bound_ms, per_iteration and the table launchers.
 * *ret_bound_ns: -1 where it is not known.
 */
int nsx_put_launching(const struct nsx_run *run, struct nsx_section *out,
		      int64_t *ret_bound_ns, struct nsx_err *err) NSX_CHECKED;

#endif
