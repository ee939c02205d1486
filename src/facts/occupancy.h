/* occupancy.h - how many blocks of a launch fit on a multiprocessor.
 *
 * NVIDIA's rules; pure functions.  What it does not know: clusters, a carve-out
 * that leaves less shared memory than the most, and other kernels resident at
 * the same time.
 */
#ifndef NSX_OCCUPANCY_H
#define NSX_OCCUPANCY_H

#include "base/base.h"

struct nsx_sm { /* a multiprocessor; values not known are 0 or negative */
	int64_t warps, blocks, registers, registers_per_block, shared_bytes,
		threads_per_warp; /* not known: 32                           */
	int64_t major, minor;	  /* compute capability                      */
};
struct nsx_block_shape {
	int64_t threads, registers, shared_bytes; /* static and dynamic      */
};
enum { /* what allows no more blocks; several may tie */
	NSX_LIMIT_WARPS = 1, NSX_LIMIT_BLOCKS = 2, NSX_LIMIT_REGISTERS = 4,
	NSX_LIMIT_SHARED = 8,
};
struct nsx_occupancy {
	int64_t blocks, warps; /* resident on a multiprocessor               */
	int64_t by_warps, by_blocks, by_registers, by_shared; /* blocks      */
	double ratio;	       /* resident warps of those it can hold        */
	unsigned limits;
};

/* False: the multiprocessor or the block is not known well enough. */
bool nsx_occupancy(const struct nsx_sm *sm, const struct nsx_block_shape *b,
		   struct nsx_occupancy *ret);
struct nsx_gpu_info;
struct nsx_trace;
struct nsx_shape;
/* The same of a block on a GPU of the trace, or of a launch configuration; g NULL: not known. */
bool nsx_gpu_occupancy(const struct nsx_gpu_info *g, const struct nsx_block_shape *b,
		       struct nsx_occupancy *ret);
bool nsx_shape_occupancy(const struct nsx_trace *t, const struct nsx_gpu_info *g,
			 const struct nsx_shape *s, struct nsx_occupancy *ret);
/* Bytes of shared memory of a block; -1: not told. */
int64_t nsx_shape_shared(const struct nsx_trace *t, const struct nsx_shape *s);
/* Of its grid. */
int64_t nsx_shape_blocks(const struct nsx_trace *t, const struct nsx_shape *s);
/* Blocks of a grid or threads of a block; a dimension that is 0 was not recorded. */
int64_t nsx_extent(const uint32_t v[3]);

#endif
