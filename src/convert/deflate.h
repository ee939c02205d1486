/* deflate.h - blocks that are compressed on several threads and handed on in
 * their order.
 *
 * What a block becomes depends on its own bytes alone, so a file is the same for
 * any number of threads.
 */
#ifndef NSX_CONVERT_DEFLATE_H
#define NSX_CONVERT_DEFLATE_H

#include "base/str.h"

enum nsx_deflate_kind { /* what a block becomes */
	NSX_DEFLATE_ZLIB, /* a zlib stream                                   */
	NSX_DEFLATE_GZIP, /* a gzip file: those of all blocks, one after the
			     other, are one, too                             */
};
/* Called on the thread of who puts the blocks; p NULL: there was no memory. */
typedef void (*nsx_deflated_fn)(void *ctx, const char *p, size_t n);

struct nsx_deflate;
/* With one thread, the caller's, all is done in nsx_deflate_put and _drain.
 * Owner: nsx_deflate_free.  Errors: NULL with NSX_E_NOMEM.
 */
struct nsx_deflate *nsx_deflate_open(enum nsx_deflate_kind kind,
				     unsigned threads, nsx_deflated_fn fn,
				     void *ctx, struct nsx_err *err);
/* Copies the block; hands on the oldest where too many are held. */
void nsx_deflate_put(struct nsx_deflate *d, const char *p, size_t n);
/* Hands on all that are left. */
void nsx_deflate_drain(struct nsx_deflate *d);
/* What is left is dropped; NULL is fine. */
void nsx_deflate_free(struct nsx_deflate *d);

#endif
