/* rings.h - blocks of bytes from several producers, on threads of their own, to
 * one taker in an order that does not depend on who is quick.
 */
#ifndef NSX_CONVERT_RINGS_H
#define NSX_CONVERT_RINGS_H

#include "base/par.h"
#include "base/str.h"

enum { NSX_MAX_PRODUCERS = 4 };
struct nsx_rings;

/* Says whether more is wanted. */
typedef bool (*nsx_take_fn)(void *ctx, const char *p, size_t n);

struct nsx_production {
	size_t n; /* at most NSX_MAX_PRODUCERS                               */
	nsx_task_fn produce; /* (ctx, i): on its thread                      */
	nsx_take_fn take; /* (take_ctx): on the caller's: the first block of
			     each, the second of each ..., as long as there are
			     any                                             */
	void *ctx, *take_ctx;
};
/* *ret_rings is there before the first producer runs.  Errors: that of the first
 * producer which fails; NSX_E_NOMEM where a thread cannot be started.
 */
int nsx_rings_run(const struct nsx_production *p, struct nsx_rings **ret_rings,
		  struct nsx_err *err) NSX_CHECKED;
/* Of producer i: hands a block on, waiting while too many are held, and leaves an
 * empty buffer. False: no more is wanted.
 */
bool nsx_rings_put(struct nsx_rings *r, size_t i, struct nsx_buf *block);

#endif
