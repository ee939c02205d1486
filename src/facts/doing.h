/* doing.h - what the host does for much of a stretch without GPU work. */
#pragma once

#include "facts/facts.h"

struct nsx_doing {
	enum { NSX_DOES_UNKNOWN, NSX_DOES_CALL, NSX_DOES_RANGE, NSX_DOES_SAMPLED } what;
	nsx_str name;	  /* name of the call, range or function */
	int64_t ns;	  /* CALL: time of the stretch that one thread spends in it */
	int64_t profiled_ns; /* CALL: the part of ns that is the profiler's own */
	double share;	  /* SAMPLED: share of the CPU samples, 0..1         */
	/* CALL: most of this time is in a single call, or in calls outside CUDA */
	bool is_one_call;
};

/* Finds the call (of CUDA, MPI or the system) in which one thread of a process (NSX_NONE: of any)
 * spends most of a stretch, or else the shortest range around most of it, or else the function that
 * was sampled most. A CUDA call comes before an MPI call, which may wait for its caller.
 * Linear in calls, ranges and samples. Errors: NSX_E_NOMEM.
 */
int nsx_find_doing(const struct nsx_trace *t, const struct nsx_facts *f, uint32_t process,
		   const struct nsx_window *w, struct nsx_doing *ret,
		   struct nsx_err *err) NSX_CHECKED;
