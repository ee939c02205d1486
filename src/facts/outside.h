/* outside.h - calls in which a thread may wait for something outside CUDA: those
 * of the operating system, and those of MPI, where it waits for other ranks.
 */
#ifndef NSX_FACTS_OUTSIDE_H
#define NSX_FACTS_OUTSIDE_H

#include "trace/trace.h"

struct nsx_outside {
	uint32_t thread;
	nsx_str name;
	uint32_t stack; /* NSX_NONE: not recorded                            */
	bool is_mpi;
	int64_t start_ns, end_ns;
	int32_t peer, tag; /* of MPI, as in the trace; -1                    */
};

/* Of threads that launch, the OS calls and then those of MPI, which older exports
 * have as NVTX ranges, from *at on, which is advanced; false: there are no more.
 */
bool nsx_outside_next(const struct nsx_trace *t, size_t *at,
		      struct nsx_outside *ret);

#endif
