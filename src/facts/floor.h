/* floor.h - the least time that work can take, by hardware rates or by rates that this trace shows.
 * A predicted gain is never greater than the time above this floor.
 */
#pragma once

#include "trace/trace.h"

struct nsx_rate {
	double bytes_per_ns; /* 0: unknown                                   */
	bool is_seen;	     /* reached by pinned copies in this trace       */
};
/* The rate of a link between host and GPU, by copy_kind (NSX_COPY_HTOD, NSX_COPY_DTOH): the
 * 90th percentile of this trace's pinned copies of 1 MB or more, else what the GPU's
 * generation reaches. Linear in the copies. Errors: NSX_E_NOMEM.
 */
int nsx_link_rate(const struct nsx_trace *t, uint32_t device, unsigned copy_kind,
		  struct nsx_arena *scratch, struct nsx_rate *ret, struct nsx_err *err) NSX_CHECKED;

/* Says how many times faster a launch could be if it used the whole GPU; 1: it already does, or
 * the use is unknown.
 */
struct nsx_room {
	double idle; /* times faster if it used the multiprocessors without blocks and idle lanes */
	double most; /* times faster if it also filled each multiprocessor with threads */
};
/* Computes the room of a launch. beside: how many blocks of other kernels run at the same time on
 * average.
 */
struct nsx_room nsx_launch_room(const struct nsx_trace *t, uint32_t device,
				const struct nsx_shape *s, double beside);
