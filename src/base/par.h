/* par.h - runs independent tasks on a few threads.
 *
 * It is undefined which thread runs which task, so a task writes only to places of its own index.
 *
 * A task may start parallel work of its own, which idle threads of the same crew join. While a task
 * waits for that work, its thread may run tasks of other jobs, so a task must not hold a lock while
 * it starts parallel work.
 */
#ifndef NSX_PAR_H
#define NSX_PAR_H

#include "base/err.h"

typedef int (*nsx_task_fn)(void *ctx, size_t i, struct nsx_err *err);

/* Runs fn(ctx, i) for i in [0,n) on at most `threads` threads, the caller's included.
 * Inside a task, at most as many threads take part as its own job has. Errors: that of the
 * lowest failing index; later indices may not have run.
 */
int nsx_par(unsigned threads, size_t n, nsx_task_fn fn, void *ctx, struct nsx_err *err) NSX_CHECKED;

#endif
