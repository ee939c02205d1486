/* floor.h - what remains of work at least: by the hardware's rates, or by what this very
 * trace shows.  A price promises no more than what lies above its floor.
 */
#ifndef NSX_FLOOR_H
#define NSX_FLOOR_H

#include "trace/trace.h"

struct nsx_rate {
	double bytes_per_ns; /* 0: not known                                 */
	bool is_seen;	     /* pinned copies of this trace reach it         */
};
/* Of a link between host and GPU, by copy_kind (NSX_COPY_HTOD, NSX_COPY_DTOH): what nine in
 * ten of the trace's pinned copies of 1 MB and more stay below, else what the GPU's generation
 * reaches.  Linear in the copies.  Errors: NSX_E_NOMEM.
 */
int nsx_link_rate(const struct nsx_trace *t, uint32_t device, unsigned copy_kind,
		  struct nsx_arena *scratch, struct nsx_rate *ret,
		  struct nsx_err *err) NSX_CHECKED;

/* How many times as fast a launch could be with the same work on all of its GPU; 1: it fills
 * it, or that is not known.
 */
struct nsx_room {
	double idle; /* multiprocessors without a block and lanes of a warp without a thread
			at work                                              */
	double most; /* ..., and multiprocessors hold as many threads as they can */
};
/* beside: blocks of other kernels that run at the same time, on average. */
struct nsx_room nsx_launch_room(const struct nsx_trace *t, uint32_t device,
				const struct nsx_shape *s, double beside);

#endif
