/* remedy.h - findings that price idle time, shared by the host's analyses. */
#ifndef NSX_PASSES_REMEDY_H
#define NSX_PASSES_REMEDY_H

#include "facts/cost.h"
#include "passes/pass.h"

/* A candidate for each device on which the remedy would give back at least
 * 1 % of the window.  *ret_share: the greatest share of it, 0..1.
 */
int nsx_add_remedy(const struct nsx_run *run, struct nsx_section *out,
		   enum nsx_remedy remedy, double *ret_share,
		   struct nsx_err *err) NSX_CHECKED;

#endif
