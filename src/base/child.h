/* child.h - work that nothing inside the process could end, done in one of its own. */
#ifndef NSX_CHILD_H
#define NSX_CHILD_H

#include "base/str.h"

/* Has a copy of this process do the work, for at most max_s seconds, and gives back
 * what it put into out; all else that it changes is lost.  It may start no thread and
 * take no lock that another thread could hold.  Owner of out: the caller.
 * Errors: those of the work; NSX_E_SLOW; NSX_E_STOP as soon as nsx_stop_flag is set;
 * NSX_E_IO where no process can be started; NSX_E_NOMEM where the system ended it.
 */
int nsx_in_child(int (*work)(void *ctx, struct nsx_buf *out, struct nsx_err *err),
		 void *ctx, double max_s, struct nsx_buf *out,
		 struct nsx_err *err) NSX_CHECKED;

#endif
