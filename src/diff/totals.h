/* totals.h - a capture as a whole: from its first GPU operation to its last, in parts
 * that add up, and what tells whether two captures did the same work.
 */
#ifndef NSX_DIFF_TOTALS_H
#define NSX_DIFF_TOTALS_H

#include "diff/stats.h"

enum nsx_total_part {
	NSX_TOTAL_KERNELS,  /* a kernel or replay runs on some GPU           */
	NSX_TOTAL_COPIES,   /* copies and memsets alone                      */
	NSX_TOTAL_ONE_TIME, /* gaps of start-up: first launches, modules,
			       contexts, first allocations                   */
	NSX_TOTAL_IDLE,	    /* what is left: host and idle                   */
	NSX_NTOTALS
};
extern const char *const nsx_total_names[NSX_NTOTALS]; /* "kernels", ...        */
enum nsx_direction { NSX_TO_GPU, NSX_FROM_GPU, NSX_OTHER_WAY, NSX_NDIRECTIONS };

struct nsx_totals {
	bool known; /* GPU operations were seen one by one                   */
	int64_t ns[NSX_NTOTALS], span_ns; /* the parts add up to it          */
	int64_t recorded_ns; /* of the window                                */
	int64_t bytes[NSX_NDIRECTIONS], copy_ns[NSX_NDIRECTIONS]; /* copy_ns:
				   sum of the copies' lengths                */
	double launches, threads;	  /* of kernels; blocks times threads
					     of a block, of all launches     */
	int64_t kernel_ns;		  /* sum of their lengths            */
	bool migrates;			  /* pages of unified memory move    */
	const char *one_time; /* the call in the longest such gap; NULL: none */
	int64_t one_time_ns;  /* of that gap                                 */
	struct nsx_call_speed { /* calls that wait for nothing, by name      */
		const char *name;
		size_t n;
		double median_ns;
	} *calls;
	size_t ncalls;
	struct nsx_launched_kernel { /* kernels by GPU, start                       */
		uint32_t kernel; /* of the side                              */
		int64_t ns;
	} *order;
	size_t norder; /* 0: there are more than are kept                    */
};

/* Two sides as wholes; of several captures a side their means. */
struct nsx_totals_change {
	bool known;
	struct nsx_totals side[2];
	double host_speed; /* equal calls, after / before; NAN: not known    */
	bool same_bytes, same_threads; /* within 2 %                         */
	bool same_work; /* one of them is the same: a shorter run is no smaller one */
	bool in_step; /* both sides launch the same kernels one after another */
	double in_step_rel; /* their time, launch by launch ...              */
	struct nsx_interval in_step_ci; /* ... and its interval              */
	bool decides; /* the verdict of the comparison is this one           */
};

#endif
