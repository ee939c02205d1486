/* par.h - the same work over many indices on a few threads.
 *
 * Tasks must be independent; which thread runs which task is not defined, so
 * a task writes only to places that belong to its index.
 *
 * A task may share out work of its own: the same threads do it, those that have run
 * out of the tasks around it among them.  Who waits for the last of its tasks may do
 * what others share out meanwhile, so a task holds no lock while it shares out work.
 */
#ifndef NSX_PAR_H
#define NSX_PAR_H

#include "base/err.h"

typedef int (*nsx_task_fn)(void *ctx, size_t i, struct nsx_err *err);

/* Runs fn(ctx, i) for i in [0,n) on at most `threads` threads (the caller's
 * included); inside a task on those at most that its own job has.  Errors: that of
 * the lowest failing index; later indices may not have run.
 */
int nsx_par(unsigned threads, size_t n, nsx_task_fn fn, void *ctx,
	    struct nsx_err *err) NSX_CHECKED;

#endif
