/* floor.c - rates of the links between host and GPU, and how much of a GPU a launch leaves unused.
 */
#include "base/stat.h"
#include "facts/floor.h"
#include "facts/occupancy.h"
#include "schema/codes.h"

#define REACHED 0.9 /* the rate of a link is this quantile of the rates of pinned copies */
enum {
	LARGE_BYTES = 1000000, /* smaller copies are partly bound by fixed costs */
	SMALL_BLOCK = 128,     /* threads of a block with one warp for each of four schedulers */
	USUAL_BLOCK = 256,     /* threads of a block; blocks of this size fill a multiprocessor */
	WARP = 32,
	SCHEDULERS = 4, /* warp schedulers of a multiprocessor */
};

/* The usual rate of pinned copies, in bytes per ns, over the GPU's PCIe generation or NVLink-C2C;
 * 0: unknown. The values were measured with bandwidthTest of the CUDA samples on machines with
 * these links.
 */
static double known_link_rate(const struct nsx_trace *t, uint32_t device)
{
	const struct nsx_gpu_info *g = nsx_device_gpu(t, device);
	const char *name = g ? nsx_text(t, g->name) : "";

	if (!g || g->compute_major < 7 || (g->compute_major == 8 && g->compute_minor == 7) ||
	    (g->compute_major == 7 && g->compute_minor == 2))
		return 0; /* a Jetson has no link */
	if (strstr(name, "GH200") || strstr(name, "GB200") || strstr(name, "GB300"))
		return 400;
	return g->compute_major >= 9 ? 55 : g->compute_major == 8 ? 26 : 13;
}

static bool is_large_pinned(const struct nsx_trace *t, size_t op, unsigned copy_kind)
{
	const struct nsx_copy *x = nsx_op_copy(t, op);

	return t->ops.kind[op] == NSX_OP_MEMCPY && x->copy_kind == copy_kind &&
	       x->bytes >= LARGE_BYTES && nsx_op_ns(&t->ops, op) > 0 &&
	       !nsx_copy_is_pageable(x->copy_kind, x->src_kind, x->dst_kind);
}

int nsx_link_rate(const struct nsx_trace *t, uint32_t device, unsigned copy_kind,
		  struct nsx_arena *scratch, struct nsx_rate *ret, struct nsx_err *err)
{
	const struct nsx_device *dev = &t->device[device];
	int64_t *bytes_per_ms;
	size_t n = 0;

	*ret = (struct nsx_rate){known_link_rate(t, device), false};
	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++)
		n += is_large_pinned(t, i, copy_kind);
	if (!n)
		return 0;
	if (!nsx_new_array(bytes_per_ms, scratch, n, "copies", err))
		return err->rc;
	n = 0;
	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++)
		if (is_large_pinned(t, i, copy_kind))
			bytes_per_ms[n++] = (int64_t)(1e6 * (double)nsx_op_copy(t, i)->bytes /
				(double)nsx_op_ns(&t->ops, i));
	*ret = (struct nsx_rate){nsx_quantile(bytes_per_ms, n, REACHED) / 1e6, true};
	nsx_arena_drop(scratch, bytes_per_ms);
	return 0;
}

/* How many threads of the kernel a multiprocessor would hold if blocks had the usual size, with the
 * same shared memory for each thread.
 */
static double resident_threads(const struct nsx_trace *t, const struct nsx_gpu_info *g,
			       const struct nsx_shape *s, int64_t threads)
{
	struct nsx_occupancy o;

	return nsx_gpu_occupancy(g, &(struct nsx_block_shape){
			.threads = USUAL_BLOCK,
			.registers = nsx_shape_launch(t, s)->registers,
			.shared_bytes = nsx_shape_shared(t, s) * USUAL_BLOCK / threads},
			&o) ? (double)(o.warps * WARP) : 0;
}

struct nsx_room nsx_launch_room(const struct nsx_trace *t, uint32_t device,
				const struct nsx_shape *s, double beside)
{
	const struct nsx_gpu_info *g = nsx_device_gpu(t, device);
	int64_t threads = nsx_extent(nsx_shape_launch(t, s)->block);
	double blocks = (double)nsx_shape_blocks(t, s) + beside;
	struct nsx_room room = {1, 1};
	struct nsx_occupancy o;
	double sms, warps, held;

	if (!g || g->sm_count <= 0 || !nsx_shape_launch(t, s)->known || blocks <= 0)
		return room;
	sms = (double)g->sm_count;
	if (beside > 0 || threads <= 0 || threads >= SMALL_BLOCK)
		warps = SCHEDULERS;
	else
		warps = (double)((threads + WARP - 1) / WARP);
	room.idle = room.most = NSX_MAX(1, sms * SCHEDULERS / (blocks * warps));
	if (warps >= SCHEDULERS ||
	    !nsx_shape_occupancy(t, g, s, &o) || !o.blocks)
		return room;
	held = resident_threads(t, g, s, threads);
	room.idle *= NSX_MAX(1, (double)WARP / (double)threads);
	room.most = NSX_MAX(room.idle, held * sms / ((double)threads *
				NSX_MIN(blocks, sms * (double)o.blocks)));
	return room;
}
