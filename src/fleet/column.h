/* column.h - columns of integers as bytes, the form in which a digest stores them.
 *
 * Values are encoded as base/number.h says; long columns are compressed as well.
 */
#pragma once

#include "base/number.h"

/* Compresses n bytes. Owner: the caller, nsx_buf_done. Errors: NSX_E_NOMEM. */
int nsx_squeeze(const void *p, size_t n, struct nsx_buf *ret, struct nsx_err *err) NSX_CHECKED;
/* Expands what nsx_squeeze or zstd wrote. Refuses data that would expand to more than `most` bytes.
 * Errors: NSX_E_DATA, NSX_E_NOMEM.
 */
int nsx_expand(const void *p, size_t n, size_t most, struct nsx_buf *ret,
	       struct nsx_err *err) NSX_CHECKED;
bool nsx_is_squeezed(const void *p, size_t n);

/* A histogram of lengths. Each bucket is 2 % wider than the one before, so quantiles are
 * right to 1 %. The sum of two sketches is the sketch of both samples.
 */
enum { NSX_SKETCH_BUCKETS = 932 }; /* one below 1 us, the rest up to 100 s, one above */
struct nsx_sketch {
	uint64_t n[NSX_SKETCH_BUCKETS];
};
void nsx_sketch_add(struct nsx_sketch *s, int64_t ns, uint64_t count);
double nsx_sketch_quantile(const struct nsx_sketch *s, double q); /* ns; 0: empty */
void nsx_sketch_put(const struct nsx_sketch *s, struct nsx_buf *b);
/* Adds a sketch that nsx_sketch_put wrote. False: the bytes are not a sketch. */
bool nsx_sketch_take(struct nsx_sketch *s, const void *p, size_t n);
