/* occupancy.c - NVIDIA's allocation rules. Source: its occupancy calculator (cuda_occupancy.h of
 * CUDA 12 and 13); each rule names its function there.
 */
#include "facts/occupancy.h"
#include "trace/trace.h"

static int64_t round_up(int64_t n, int64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* Greater values are rejected, so that products fit int64. It is far above the limits of any GPU
 * for a block, a warp or a thread.
 */
enum { IMPLAUSIBLE = 1 << 20 };

/* cudaOccRegAllocationGranularity: a warp gets registers in units of 256, from 3.x on. */
enum { REGISTER_UNIT = 256 };

/* cudaDeviceProp::reservedSharedMemPerBlock: from 8.0 on the system reserves 1 KiB of each block's
 * shared memory (CUDA C++ programming guide, shared memory of compute capability 8.x).
 */
static int64_t shared_reserved(const struct nsx_sm *sm)
{
	return sm->major >= 8 ? 1024 : 0;
}

/* cudaOccMaxBlocksPerSMRegsLimit. The check of a launch rounds a block's warps up to a multiple of
 * the number of parts; the allocation itself does not.
 */
static int64_t blocks_by_registers(const struct nsx_sm *sm, int64_t registers,
				   int64_t warps, int64_t unlimited)
{
	/* cudaOccSubPartitionsPerMultiprocessor: the register file is divided, and a warp's
	 * registers lie in one part. GP100 (6.0) has two parts.
	 */
	int64_t parts = sm->major == 6 && sm->minor == 0 ? 2 : 4;
	int64_t of_block = sm->registers_per_block > 0 ? sm->registers_per_block : sm->registers;
	int64_t of_warp = round_up(registers * sm->threads_per_warp, REGISTER_UNIT);

	if (!of_warp)
		return unlimited;
	if (of_warp * round_up(warps, parts) > of_block)
		return 0;
	return sm->registers / parts / of_warp * parts / warps;
}

/* cudaOccMaxBlocksPerSMSmemLimit, with the largest carve-out. */
static int64_t blocks_by_shared(const struct nsx_sm *sm, int64_t bytes, int64_t unlimited)
{
	/* cudaOccSMemAllocationGranularity: 256 bytes from 3.x to 7.x, then 128. */
	int64_t unit = sm->major >= 8 ? 128 : 256;
	int64_t of_block = round_up(bytes + shared_reserved(sm), unit);

	return of_block ? sm->shared_bytes / of_block : unlimited;
}

bool nsx_occupancy(const struct nsx_sm *limits, const struct nsx_block_shape *b,
		   struct nsx_occupancy *ret)
{
	struct nsx_sm sm = *limits;
	int64_t warps;

	if (sm.threads_per_warp <= 0)
		sm.threads_per_warp = 32;
	if (sm.warps <= 0 || sm.blocks <= 0 || sm.registers <= 0 ||
	    sm.shared_bytes <= 0 || sm.major < 3 || b->threads <= 0 ||
	    b->registers < 0 || b->shared_bytes < 0 ||
	    sm.threads_per_warp >= IMPLAUSIBLE || b->threads >= IMPLAUSIBLE ||
	    b->registers >= IMPLAUSIBLE)
		return false;
	warps = round_up(b->threads, sm.threads_per_warp) / sm.threads_per_warp;
	*ret = (struct nsx_occupancy){
		.by_warps = sm.warps / warps,
		.by_blocks = sm.blocks,
		.by_registers = blocks_by_registers(&sm, b->registers, warps, sm.blocks),
		.by_shared = blocks_by_shared(&sm, b->shared_bytes, sm.blocks)};
	ret->blocks = NSX_MIN(NSX_MIN(ret->by_warps, ret->by_blocks),
			      NSX_MIN(ret->by_registers, ret->by_shared));
	ret->warps = ret->blocks * warps;
	ret->ratio = (double)ret->warps / (double)sm.warps;
	ret->limits = (ret->by_warps == ret->blocks ? NSX_LIMIT_WARPS : 0) |
		      (ret->by_blocks == ret->blocks ? NSX_LIMIT_BLOCKS : 0) |
		      (ret->by_registers == ret->blocks && b->registers ?
			       NSX_LIMIT_REGISTERS : 0) |
		      (ret->by_shared == ret->blocks &&
				       b->shared_bytes + shared_reserved(&sm) ?
			       NSX_LIMIT_SHARED : 0);
	return true;
}

int64_t nsx_extent(const uint32_t v[3])
{
	int64_t n;

	if (__builtin_mul_overflow((int64_t)v[0] * NSX_MAX(v[1], 1), (int64_t)NSX_MAX(v[2], 1), &n))
		return INT64_MAX;
	return n;
}

int64_t nsx_shape_blocks(const struct nsx_trace *t, const struct nsx_shape *s)
{
	uint32_t grid[3];

	nsx_shape_grid(t, s, grid);
	return nsx_extent(grid);
}

int64_t nsx_shape_shared(const struct nsx_trace *t, const struct nsx_shape *s)
{
	const struct nsx_launch *l = nsx_shape_launch(t, s);

	return l->static_shared_bytes == NSX_NONE ||
			       l->dynamic_shared_bytes == NSX_NONE ? -1 :
	       (int64_t)l->static_shared_bytes + l->dynamic_shared_bytes;
}

bool nsx_gpu_occupancy(const struct nsx_gpu_info *g, const struct nsx_block_shape *b,
		       struct nsx_occupancy *ret)
{
	struct nsx_sm sm;

	if (!g)
		return false;
	sm = (struct nsx_sm){
		.warps = g->max_warps_per_sm, .blocks = g->max_blocks_per_sm,
		.registers = g->max_registers_per_sm,
		.registers_per_block = g->max_registers_per_block,
		.shared_bytes = g->max_shared_per_sm,
		.threads_per_warp = g->threads_per_warp,
		.major = g->compute_major, .minor = g->compute_minor};
	return nsx_occupancy(&sm, b, ret);
}

bool nsx_shape_occupancy(const struct nsx_trace *t, const struct nsx_gpu_info *g,
			 const struct nsx_shape *s, struct nsx_occupancy *ret)
{
	const struct nsx_launch *l = nsx_shape_launch(t, s);

	return l->known && nsx_gpu_occupancy(g, &(struct nsx_block_shape){
		.threads = nsx_extent(l->block), .registers = l->registers,
		.shared_bytes = nsx_shape_shared(t, s)}, ret);
}
