/* totals.h - a trace as a whole: parts that add up to the time from its first GPU operation
 * to its last, and figures that tell whether two traces did the same work.
 */
#pragma once

#include "facts/facts.h"

enum nsx_total_part {
	NSX_TOTAL_KERNELS,  /* a kernel or replay runs on some GPU */
	NSX_TOTAL_COPIES,   /* only copies and memsets */
	NSX_TOTAL_ONE_TIME, /* start-up in gaps that do not recur: first launches, modules,
			       contexts, first allocations */
	NSX_TOTAL_IDLE,	    /* the rest: host and idle */
	NSX_NTOTALS
};
enum nsx_direction { NSX_TO_GPU, NSX_FROM_GPU, NSX_OTHER_WAY, NSX_NDIRECTIONS };
enum {
	NSX_NBLOCKS = 32,
	NSX_NPAUSES = 8,
	/* One or two pauses of a run, or slow units, may be chance; three are part of the loop. */
	NSX_CHANCE = 2,
};

struct nsx_totals {
	bool known; /* GPU operations were recorded one by one */
	int64_t ns[NSX_NTOTALS], span_ns; /* ns adds up to span_ns */
	int64_t recorded_ns; /* length of the recording, or of the user's window */
	int64_t judged_ns;   /* length of the part on which findings are judged; 0: not known */
	int64_t bytes[NSX_NDIRECTIONS], copy_ns[NSX_NDIRECTIONS]; /* copy_ns: sum of the
								     copies' durations */
	int64_t launches, threads;	  /* kernel launches; blocks times threads per block,
					     over all launches */
	int64_t kernel_ns;		  /* sum of the durations of the kernel launches */
	bool migrates;			  /* unified memory migrates pages */
	/* by GPU: the longest gaps in which it is idle or only communicates, longest first */
	struct nsx_pause {
		int64_t ns; /* without start-up */
		size_t at;  /* number of kernels that began before its end */
	} (*pauses)[NSX_NPAUSES];
	uint32_t ngpus;
	const char *one_time; /* the call in the longest one-time gap; "": none */
	int64_t one_time_ns;  /* start-up time in the longest one-time gap */
	uint64_t sequence;    /* hash of the launched kernels' names, by GPU and start; 0: fewer
				 than NSX_NBLOCKS */
	struct nsx_launch_block { /* launches [i * launches / nblocks, ...) of that order */
		int64_t ns; /* sum of their durations */
	} *blocks;
	size_t nblocks; /* NSX_NBLOCKS or 0 */
	struct nsx_call_speed { /* calls that never wait, by name */
		const char *name;
		int64_t count, median_ns;
	} *calls;
	size_t ncalls;
};

/* Measures a trace. Owner of names and lists: a. Errors: NSX_E_NOMEM. */
int nsx_totals_measure(const struct nsx_trace *t, const struct nsx_facts *f,
		       struct nsx_arena *a, struct nsx_totals *ret, struct nsx_err *err) NSX_CHECKED;
