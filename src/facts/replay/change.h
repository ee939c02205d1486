/* change.h - one change to the recorded program, as a plain value.
 *
 * A change is a verb and its object. Every field that is set narrows the object; a field of 0 does
 * not. For example,
 *
 *	{.verb = NSX_NO_WAIT, .name = "cudaStreamSynchronize"}
 *
 * removes every wait of that API in the judged window, and
 *
 *	{.verb = NSX_FASTER, .op = NSX_ON_KERNELS, .name = "gemm", .amount = 2}
 *
 * halves the time of every kernel with that name. A replay can combine several changes. If several
 * apply to one duration, gap or cost, the shortest result holds.
 */
#pragma once

#include "trace/trace.h"

enum nsx_change_verb {
	/* Calls, selected by name, range or rows of calls: */
	NSX_NO_WAIT, /* remove waits; blocking copies return at once */
	NSX_NO_COST, /* calls take no time; the work that they queued stays  */
	NSX_UNTIE,   /* remove the calls, and the waits that they made streams do */
	NSX_FASTER_LAUNCH, /* launch calls `amount` times as fast            */

	/* Time of a calling thread between its calls, selected by range, rows (the call
	 * that ends the gap), process or thread:
	 */
	NSX_FASTER_HOST,   /* code between calls `amount` times as fast; waits outside CUDA stay */
	NSX_NO_OS_WAIT,	   /* remove OS or MPI calls in `name`; without a name, all waits
			      outside CUDA, and time off the CPU */
	NSX_NO_PREEMPTION, /* remove time off the CPU while ready to run, also in
			      launches and after waits                       */
	NSX_NO_ABSENCE,	   /* remove time off the CPU for unrecorded reasons, also in launches and
			      after waits                                    */
	NSX_NO_PROFILER,   /* remove the profiler's own time                 */
	NSX_INSTANT_HOST,  /* remove waits, call costs and gaps: the bound for all changes on the
			      host                                           */

	/* Operations, selected by op, name, copy kind, range or rows of ops: */
	NSX_FASTER,	/* durations `amount` times as fast                  */
	NSX_DROP,	/* remove them, and calls that launched nothing else */
	NSX_ASYNC_COPY, /* blocking copies return at once                    */
	NSX_OVERLAP,	/* blocking copies return at once, and the operations run one after another
			   beside all other work of the device               */
	NSX_CUT,	/* no other stream waits for the operations          */
	NSX_FUSE,	/* kernels continue the previous work of their stream: no launch,
			   and a pause of only `least_ns`, as in a CUDA graph */
	NSX_HOLD_CLOCK, /* kernels in `when` are as fast as the same kernels before it */

	/* Collectives matched between GPUs: */
	NSX_HIDE_COMM,	  /* compute hides communication, except waiting for the last rank: a
			     bound                                           */
	NSX_FASTER_COMM,  /* transfers, after the last rank's arrival, are `amount` times as fast;
			     of several changes the greatest amount holds    */
	NSX_NO_PEER_WAIT, /* no rank waits for others. With an `amount` above 1, ranks that take
			     turns exchange that many smaller pieces: waits shrink, but transfers
			     start and kernels are dispatched more often; the part of a wait
			     above `most_ns` stays                           */
	NSX_SHARE_WORK,	  /* between collectives of all ranks, the kernels of each rank take the
			     ranks' mean time; applied after the other changes */
	NSX_EVEN_RANK,	  /* operations, calls and gaps of `process` on `device` take as long as
			     those of its peers. Peers are the ranks that the plan does not make
			     even, or all if it makes all even               */

	NSX_DROP_RANGE, /* removes range `range`: its calls, gaps and operations */
	NSX_NVERBS
};

/* Whether the verb's rows are calls. Otherwise they are operations. */
static inline bool nsx_changes_calls(enum nsx_change_verb verb)
{
	return verb <= NSX_INSTANT_HOST;
}

enum nsx_change_on { /* kinds of operations; 0: any */
	NSX_ON_KERNELS = 1, NSX_ON_COPIES = 2, NSX_ON_MEMSETS = 4,
	NSX_ON_GRAPHS = 8,
};
enum nsx_change_by { /* which of the indices below are set */
	NSX_BY_PROCESS = 1, NSX_BY_DEVICE = 2, NSX_BY_THREAD = 4,
	NSX_BY_STREAM = 8,
};

struct nsx_rows { /* row indices, ascending; see NSX_EACH_ROW */
	bool only; /* only the listed rows; false: any row                   */
	size_t n, nruns; /* runs of consecutive rows                         */
	struct nsx_packed first, length; /* one for each run */
};
static inline uint32_t nsx_run_first(const struct nsx_rows *r, size_t run)
{
	return (uint32_t)nsx_unpack(&r->first, run);
}
static inline uint32_t nsx_run_end(const struct nsx_rows *r, size_t run)
{
	return nsx_run_first(r, run) + (uint32_t)nsx_unpack(&r->length, run);
}
#define NSX_EACH_ROW(r, row)                                                  \
	for (size_t run_ = 0; run_ < (r)->nruns; run_++)                      \
		for (uint32_t row = nsx_run_first(r, run_),                   \
			      end_ = nsx_run_end(r, run_); row < end_; row++)

struct nsx_change {
	enum nsx_change_verb verb;
	double amount; /* factor of speed, > 0; INFINITY: no time at all     */
	unsigned op;   /* enum nsx_change_on, as bits                        */
	unsigned by;   /* enum nsx_change_by, as bits                        */
	uint32_t process, device, thread, stream; /* indices of the trace    */
	uint8_t copy_kind; /* ENUM_CUDA_MEMCPY_OPER; 0: any                  */
	bool is_pattern;   /* name is a POSIX extended regular expression, unanchored */
	bool fills;	   /* NSX_FASTER: the kernels get faster by using more multiprocessors,
			      which other kernels then lack                  */
	const char *name;  /* an API without its version, a kernel's full or base name,
			      or an OS call; a whole name unless is_pattern  */
	const char *family; /* kernel family, as in kernel_name.h            */
	const char *range; /* normalised name of an NVTX range that is open on the thread
			      when the call begins, at any depth              */
	struct nsx_rows rows; /* of trace.calls or trace.ops, for objects that no other
				 field can describe                           */
	int64_t least_ns; /* NSX_NO_OS_WAIT: shorter calls stay; NSX_FASTER_HOST: least length of
			     each gap; NSX_FUSE: length of each pause (of several changes, the
			     least)                                          */
	int64_t most_ns;  /* NSX_NO_PEER_WAIT with an amount above 1: the part of a wait above
			     this stays                                      */
	struct nsx_window when; /* only rows that begin in it; start == end: all rows */
};

/* A set is a group of processes that share nothing with other processes. If there are more sets
 * than this, sets are not distinguished.
 */
enum { NSX_MAX_SETS = 32 };

/* Changes that are made together, such as a finding's remedy. */
struct nsx_plan {
	const struct nsx_change *v;
	size_t n;
};
