/* recapture.h - command lines that record more, spelled for the nsys that made a
 * trace: the one place that knows which version has which option.
 *
 * A line never holds an option that the version refuses: what it cannot record
 * gets no line.  Where an option's name changed and the version is not known the
 * line has the older name, and the newer one stands behind it as a comment.
 */
#ifndef NSX_RECAPTURE_H
#define NSX_RECAPTURE_H

#include "schema/schema.h"

enum nsx_record {		    /* bits: what a line is for              */
	NSX_REC_BASIC = 1,	    /* CUDA, NVTX, operating-system calls    */
	NSX_REC_COUNTERS = 1 << 1,  /* of the GPU                            */
	NSX_REC_NCCL = 1 << 2,	    /* its own ranges                        */
	NSX_REC_GRAPHS = 1 << 3,    /* node by node                          */
	NSX_REC_MEMORY = 1 << 4,    /* allocations                           */
	NSX_REC_FAULTS = 1 << 5,    /* page faults of unified memory         */
	NSX_REC_SCHED = 1 << 6,	    /* when threads ran                      */
	NSX_REC_ALL = (1 << 7) - 1, /* what one capture can record together  */
	NSX_REC_TORCH = 1 << 7,	    /* ranges of PyTorch's operators         */
	NSX_REC_ALL_APIS = 1 << 8,  /* cheap calls, too                      */
	NSX_REC_RANGE = 1 << 9,	    /* from cudaProfilerStart to Stop        */
	NSX_REC_SHORT = 1 << 10,    /* half a minute                         */
	NSX_REC_LATER = 1 << 11,    /* after ten seconds                     */
	NSX_REC_SOFTWARE = 1 << 12, /* CUDA, without the GPU's own tracing   */
	NSX_REC_SLOWER = 1 << 13,   /* counters, but less often              */
	NSX_REC_LIGHT = 1 << 14,    /* nothing of the CPU                    */
	NSX_REC_SETS = 1 << 15,	    /* lists the sets of counters            */
	NSX_REC_EXPORT = 1 << 16,   /* whole                                 */
	NSX_REC_PAYLOAD = 1 << 17,  /* and payloads of ranges: with EXPORT   */
};

/* "NVIDIA Nsight Systems 2023.4.4.54" is 202304; 0: not known. */
unsigned nsx_nsys_version(const char *product);

/* For the nsys that made the trace; s may be NULL: not known.  Returns NULL where
 * it cannot do it.  Owner: the arena, or nobody.
 */
const char *nsx_recapture_line(struct nsx_arena *a, const struct nsx_schema *s,
			       unsigned what);
/* The least version that can; 0: any. */
unsigned nsx_recapture_since(unsigned what);
/* What `nsys-explain capture` calls a capture of that; links: between GPUs, so
 * that counters are for NVLink.
 */
const char *nsx_recapture_preset(unsigned what, bool links);

#endif
