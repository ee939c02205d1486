/* slices.h - slices of time in which another program uses a GPU. */
#pragma once

#include "trace/trace.h"

struct nsx_slices {
	uint32_t device;
	size_t n; /* gaps in which the other program runs; 0: no slices      */
	size_t nstretched; /* kernels that a slice prolongs                  */
	int64_t sum_ns;		 /* sum of the gaps, and of what these kernels take longer */
	double gap_ns, busy_ns;  /* medians; busy_ns: from one gap to the next */
};
/* Finds the gaps of a GPU within the window that are time slices of another program. Without MPS a
 * GPU gives several programs slices of time in turn. The trace of one program then shows gaps of
 * equal length although its work is queued, and kernels that take longer by the same length.
 * Between two gaps lies a slice of the program's own work, or less where it queues less. Linear in
 * the GPU's operations. Errors: NSX_E_NOMEM.
 */
int nsx_find_slices(const struct nsx_trace *t, uint32_t device, struct nsx_window w,
		    struct nsx_arena *scratch, struct nsx_slices *ret,
		    struct nsx_err *err) NSX_CHECKED;
