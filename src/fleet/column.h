/* column.h - columns of integers as bytes, the form in which a digest keeps them.
 *
 * Values are numbers of base/number.h; long columns are compressed as well.
 */
#ifndef NSX_FLEET_COLUMN_H
#define NSX_FLEET_COLUMN_H

#include "base/number.h"

/* Bytes, compressed. Owner: the caller, nsx_buf_done. Errors: NSX_E_NOMEM. */
int nsx_squeeze(const void *p, size_t n, struct nsx_buf *ret,
		struct nsx_err *err) NSX_CHECKED;
/* The reverse; what would be longer than most is refused.  Errors: NSX_E_DATA,
 * NSX_E_NOMEM.
 */
int nsx_expand(const void *p, size_t n, size_t most, struct nsx_buf *ret,
	       struct nsx_err *err) NSX_CHECKED;
bool nsx_is_squeezed(const void *p, size_t n);

/* Lengths in buckets that grow by 2 %, which gives any quantile to 1 %; adding
 * two sketches bucket by bucket is the sketch of both samples.
 */
enum { NSX_SKETCH_BUCKETS = 932 }; /* below 1 us, up to 100 s, above        */
struct nsx_sketch {
	uint64_t n[NSX_SKETCH_BUCKETS];
};
void nsx_sketch_add(struct nsx_sketch *s, int64_t ns, uint64_t count);
double nsx_sketch_quantile(const struct nsx_sketch *s, double q); /* ns; 0: empty */
void nsx_sketch_put(const struct nsx_sketch *s, struct nsx_buf *b);
/* Adds what was put. False: the bytes are none. */
bool nsx_sketch_take(struct nsx_sketch *s, const void *p, size_t n);

#endif
