/* par.h - runs independent tasks on a few threads.
 *
 * Any thread may run any task, so a task must write only to places that belong to its index.
 *
 * A task may start parallel work of its own, which idle threads of the same crew join. While a task
 * waits for that work, its thread may run tasks of other jobs, so a task must not hold a lock while
 * it starts parallel work.
 */
#pragma once

#include "base/err.h"

typedef int (*nsx_task_fn)(void *ctx, size_t i, struct nsx_err *err);

/* Runs fn(ctx, i) for i in [0, n) on at most `threads` threads, including the caller's. A call
 * from inside a task uses the threads of the outer call, whatever `threads` is. Errors: that of
 * the lowest failing index; later indices may not have run.
 */
int nsx_par(unsigned threads, size_t n, nsx_task_fn fn, void *ctx, struct nsx_err *err) NSX_CHECKED;
