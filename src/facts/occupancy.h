/* occupancy.h - how many blocks of a launch fit on a multiprocessor.
 *
 * Pure functions that follow NVIDIA's rules. They leave out clusters, a carve-out with less shared
 * memory than the maximum, and other resident kernels.
 */
#pragma once

#include "base/base.h"

struct nsx_sm { /* a multiprocessor; unknown values are 0 or negative */
	int64_t warps, blocks, registers, registers_per_block, shared_bytes,
		threads_per_warp; /* unknown: 32                             */
	int64_t major, minor;	  /* compute capability                      */
};
struct nsx_block_shape {
	int64_t threads, registers, shared_bytes; /* shared_bytes: static and dynamic */
};
enum { /* bits that name what limits the number of blocks; several may limit it equally */
	NSX_LIMIT_WARPS = 1, NSX_LIMIT_BLOCKS = 2, NSX_LIMIT_REGISTERS = 4,
	NSX_LIMIT_SHARED = 8,
};
struct nsx_occupancy {
	int64_t blocks, warps; /* how many are resident on a multiprocessor */
	/* How many blocks each resource would allow. */
	int64_t by_warps, by_blocks, by_registers, by_shared;
	double ratio;	       /* resident warps / possible warps            */
	unsigned limits;
};

/* Computes the occupancy. False: too little is known of the multiprocessor or the block. */
bool nsx_occupancy(const struct nsx_sm *sm, const struct nsx_block_shape *b,
		   struct nsx_occupancy *ret);
struct nsx_gpu_info;
struct nsx_trace;
struct nsx_shape;
/* The occupancy of a block on a GPU of the trace (g NULL: unknown GPU), and that of a launch
 * configuration.
 */
bool nsx_gpu_occupancy(const struct nsx_gpu_info *g, const struct nsx_block_shape *b,
		       struct nsx_occupancy *ret);
bool nsx_shape_occupancy(const struct nsx_trace *t, const struct nsx_gpu_info *g,
			 const struct nsx_shape *s, struct nsx_occupancy *ret);
/* Shared memory of a block in bytes; -1: unknown. */
int64_t nsx_shape_shared(const struct nsx_trace *t, const struct nsx_shape *s);
/* The number of blocks of a shape's grid. */
int64_t nsx_shape_blocks(const struct nsx_trace *t, const struct nsx_shape *s);
/* The number of blocks of a grid, or of threads of a block, with the dimensions v; 0 if a dimension
 * was not recorded.
 */
int64_t nsx_extent(const uint32_t v[3]);
