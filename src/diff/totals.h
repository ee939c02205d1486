/* totals.h - a capture as a whole: parts that add up to the time from its first GPU
 * operation to its last, and figures that tell whether two captures did the same work.
 */
#ifndef NSX_DIFF_TOTALS_H
#define NSX_DIFF_TOTALS_H

#include "diff/stats.h"

enum nsx_total_part {
	NSX_TOTAL_KERNELS,  /* a kernel or replay runs on some GPU */
	NSX_TOTAL_COPIES,   /* only copies and memsets */
	NSX_TOTAL_ONE_TIME, /* gaps of start-up: first launches, modules, contexts, first
			       allocations */
	NSX_TOTAL_IDLE,	    /* the rest: host and idle */
	NSX_NTOTALS
};
extern const char *const nsx_total_names[NSX_NTOTALS]; /* "kernels", ... */
enum nsx_direction { NSX_TO_GPU, NSX_FROM_GPU, NSX_OTHER_WAY, NSX_NDIRECTIONS };

struct nsx_totals {
	bool known; /* GPU operations were recorded one by one */
	int64_t ns[NSX_NTOTALS], span_ns; /* ns adds up to span_ns */
	int64_t recorded_ns; /* length of the window */
	int64_t bytes[NSX_NDIRECTIONS], copy_ns[NSX_NDIRECTIONS]; /* copy_ns: sum of the
								     copies' durations */
	double launches, threads;	  /* kernel launches; blocks times threads per block,
					     over all launches */
	int64_t kernel_ns;		  /* sum of their durations */
	bool migrates;			  /* unified memory migrates pages */
	const char *one_time; /* the call in the longest one-time gap; NULL: none */
	int64_t one_time_ns;  /* length of that gap */
	struct nsx_call_speed { /* calls that never wait, by name */
		const char *name;
		size_t n;
		double median_ns;
	} *calls;
	size_t ncalls;
	struct nsx_launched_kernel { /* kernels by GPU and start */
		uint32_t kernel; /* index in the side */
		int64_t ns;
	} *order;
	size_t norder; /* 0: too many to keep */
};

/* Two sides as wholes; with several captures per side, their means. */
struct nsx_totals_change {
	bool known;
	struct nsx_totals side[2];
	double host_speed; /* duration of equal calls, after / before; NAN: not known */
	bool same_bytes, same_threads; /* within 2 % */
	bool same_work; /* threads or bytes, whichever tell, are the same: a shorter run is
			   not a smaller one */
	bool in_step; /* both sides launch the same kernels in the same order */
	double in_step_rel; /* change of their time, launch by launch */
	struct nsx_interval in_step_ci; /* its interval */
	bool decides; /* the comparison's verdict is about the wholes */
};

#endif
