/* rings.h - passes blocks of bytes from several producer threads to one consumer in an order that
 * does not depend on timing.
 */
#pragma once

#include "base/par.h"
#include "base/str.h"

enum { NSX_MAX_PRODUCERS = 4 };
struct nsx_rings;

/* Takes a block. Returns whether the consumer wants more. */
typedef bool (*nsx_take_fn)(void *ctx, const char *p, size_t n);

struct nsx_production {
	size_t n; /* at most NSX_MAX_PRODUCERS                               */
	nsx_task_fn produce; /* called as (ctx, i) on the producer's thread  */
	nsx_take_fn take; /* called as (take_ctx) on the caller's thread: with the first block of
			     each producer, then the second of each, and so on */
	void *ctx, *take_ctx;
};
/* Runs the production. *ret_rings is set before the first producer runs. Errors: that of the first
 * failing producer; NSX_E_NOMEM if a thread cannot be started.
 */
int nsx_rings_run(const struct nsx_production *p, struct nsx_rings **ret_rings,
		  struct nsx_err *err) NSX_CHECKED;
/* Called by producer i: passes a block on, waiting while too many are held, and leaves an empty
 * buffer. False: no more is wanted.
 */
bool nsx_rings_put(struct nsx_rings *r, size_t i, struct nsx_buf *block);
