/* change.h - one thing changed in the recorded program, as a plain value.
 *
 * A change is a verb and what it is done to.  Everything a change names
 * narrows what it touches; what is left zero does not, so that
 *
 *	{.verb = NSX_NO_WAIT, .name = "cudaStreamSynchronize"}
 *
 * takes out every wait of that API in the judged window, and
 *
 *	{.verb = NSX_FASTER, .op = NSX_ON_KERNELS, .name = "gemm", .amount = 2}
 *
 * halves every kernel of that name.  Changes are combined by handing several to
 * one replay: sets are united; of durations, gaps and costs the least counts.
 */
#ifndef NSX_REPLAY_CHANGE_H
#define NSX_REPLAY_CHANGE_H

#include "trace/trace.h"

enum nsx_change_verb {
	/* Calls: by name, range, rows of calls. */
	NSX_NO_WAIT, /* calls that wait are gone; copies that block no longer do */
	NSX_NO_COST, /* the calls take no time; what they queued stays       */
	NSX_UNTIE,   /* the calls are gone, and with them the waits of streams
			that they asked for                                  */
	NSX_FASTER_LAUNCH, /* launching calls, `amount` times as fast        */

	/* Time of a calling thread between its calls: by range, rows (the call
	 * that ends the gap), process, thread. */
	NSX_FASTER_HOST,   /* what it computes, `amount` times as fast; waits
			      outside CUDA stay                              */
	NSX_NO_OS_WAIT,	   /* calls of the operating system or of MPI in `name`;
			      without one all waits outside CUDA, also off its CPU */
	NSX_NO_PREEMPTION, /* off its CPU although it could have run, also in
			      launches, and past the end of a wait           */
	NSX_NO_ABSENCE,	   /* likewise, it was not recorded why              */
	NSX_NO_PROFILER,   /* what the profiler took                         */
	NSX_INSTANT_HOST,  /* no waits, no costs, no time between calls: the
			      bound of all that can be done on the host      */

	/* Operations: by op, name, copy kind, range, rows of ops. */
	NSX_FASTER,	/* durations, `amount` times as fast                 */
	NSX_DROP,	/* gone, with the calls that made nothing else       */
	NSX_ASYNC_COPY, /* copies that block no longer do                    */
	NSX_OVERLAP,	/* no longer block, and are done one after another
			   beside all other work of the device               */
	NSX_CUT,	/* nothing on another stream waits for them          */
	NSX_FUSE,	/* kernels that what their stream did before goes on
			   with: no launch, and no pause before them but
			   `least_ns`, as between those of a CUDA graph      */
	NSX_HOLD_CLOCK, /* kernels of `when`: as fast as the same kernels are
			   before it                                         */

	/* Collectives, as they were matched between GPUs. */
	NSX_HIDE_COMM,	  /* beside compute, but for waiting for the last
			     rank: a bound                                   */
	NSX_FASTER_COMM,  /* the transfer, after the last rank has come,
			     `amount` times as fast; of several changes the
			     greatest amount counts for all they touch       */
	NSX_NO_PEER_WAIT, /* every rank goes at its own pace; with an
			     `amount` above 1, ranks that take turns do so in
			     pieces so many times as small: they wait for
			     each other as much less, but transfers start
			     and kernels are dispatched so many times; of
			     waits beyond `most_ns` the rest stays           */
	NSX_SHARE_WORK,	  /* from one collective of all ranks to the next the
			     kernels of each take as long as their mean: it
			     scales what other changes leave of them          */
	NSX_EVEN_RANK,	  /* `process` on `device` like its peers: its work,
			     its calls and its time between them; those made
			     even by the same plan are no peers, if there is
			     another                                         */

	NSX_DROP_RANGE, /* NVTX range `range`: its calls, gaps and operations */
	NSX_NVERBS
};

/* Whether rows of a change are calls; else operations. */
static inline bool nsx_changes_calls(enum nsx_change_verb verb)
{
	return verb <= NSX_INSTANT_HOST;
}

enum nsx_change_on { /* kinds of operation; 0 is any */
	NSX_ON_KERNELS = 1, NSX_ON_COPIES = 2, NSX_ON_MEMSETS = 4,
	NSX_ON_GRAPHS = 8,
};
enum nsx_change_by { /* which of the indices below narrow the change */
	NSX_BY_PROCESS = 1, NSX_BY_DEVICE = 2, NSX_BY_THREAD = 4,
	NSX_BY_STREAM = 8,
};

struct nsx_rows { /* ascending; NSX_EACH_ROW */
	bool only; /* false: any row                                         */
	size_t n, nruns; /* runs of rows one after the other                 */
	struct nsx_packed first, length; /* by run                           */
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
	double amount; /* times as fast, > 0; INFINITY: no time at all       */
	unsigned op;   /* enum nsx_change_on, or-ed                          */
	unsigned by;   /* enum nsx_change_by, or-ed                          */
	uint32_t process, device, thread, stream; /* indices of the trace    */
	uint8_t copy_kind; /* ENUM_CUDA_MEMCPY_OPER; 0: any                  */
	bool is_pattern;   /* name is a POSIX extended regular expression,
			      found anywhere in it                           */
	bool fills;	   /* NSX_FASTER: by having more multiprocessors, which
			      no other kernel then has                        */
	const char *name;  /* an API without its version; a kernel's full or
			      base name; an OS call.  Whole names, unless
			      is_pattern                                     */
	const char *family; /* the kernel's, as in kernel_name.h             */
	const char *range; /* NVTX range, as normalised, that is open on the
			      thread where the call begins: at any depth      */
	struct nsx_rows rows; /* of trace.calls or trace.ops: for what no field
				 above can say                                */
	int64_t least_ns; /* NSX_NO_OS_WAIT: only calls this long or longer;
			     NSX_FASTER_HOST: of each gap as much is left;
			     NSX_FUSE: of each pause, the least of several   */
	int64_t most_ns;  /* NSX_NO_PEER_WAIT, in pieces                     */
	struct nsx_window when; /* only what begins here; start == end: all   */
};

/* Processes that share nothing with others are sets; with more none is told apart. */
enum { NSX_MAX_SETS = 32 };

/* What belongs together: a finding's remedy, applied as one. */
struct nsx_plan {
	const struct nsx_change *v;
	size_t n;
};

#endif
