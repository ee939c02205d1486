/* deflate.h - compresses blocks on several threads and delivers them in order.
 *
 * Each block is compressed independently, so the output is the same for any number of threads.
 */
#pragma once

#include "base/str.h"

enum nsx_deflate_kind { /* format of a compressed block */
	NSX_DEFLATE_ZLIB, /* a zlib stream                                   */
	NSX_DEFLATE_GZIP, /* a gzip file; concatenated blocks form one gzip file */
};
/* Called on the thread that puts the blocks; p NULL: out of memory. */
typedef void (*nsx_deflated_fn)(void *ctx, const char *p, size_t n);

struct nsx_deflate;
/* Opens a compressor. With one thread (the caller's) the work is done in nsx_deflate_put and
 * nsx_deflate_drain. Owner: nsx_deflate_free. Errors: NULL with NSX_E_NOMEM.
 */
struct nsx_deflate *nsx_deflate_open(enum nsx_deflate_kind kind,
				     unsigned threads, nsx_deflated_fn fn,
				     void *ctx, struct nsx_err *err);
/* Copies the block; delivers the oldest ones if too many are held. */
void nsx_deflate_put(struct nsx_deflate *d, const char *p, size_t n);
/* Delivers all remaining blocks. */
void nsx_deflate_drain(struct nsx_deflate *d);
/* Drops remaining blocks; NULL is allowed. */
void nsx_deflate_free(struct nsx_deflate *d);
