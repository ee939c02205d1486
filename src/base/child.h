/* child.h - runs work that cannot be interrupted in a process of its own. */
#pragma once

#include "base/str.h"

/* Runs work(ctx) in a forked copy of this process, for at most max_s seconds, and returns the
 * bytes that it appended to `out`. Everything else that work changes is lost. work must not start
 * threads or take a lock that another thread could hold. Owner of out: the caller. Errors: those
 * of work; NSX_E_SLOW; NSX_E_STOP as soon as nsx_stop_flag is set; NSX_E_IO if no process can be
 * started; NSX_E_NOMEM if the system killed the process.
 */
int nsx_in_child(int (*work)(void *ctx, struct nsx_buf *out, struct nsx_err *err),
		 void *ctx, double max_s, struct nsx_buf *out, struct nsx_err *err) NSX_CHECKED;
