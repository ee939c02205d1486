/* kernels.h - shared by the detectors of kernels: time in the judged window summed by name and
 * by shape, and words for it; private to detect.
 */
#ifndef NSX_DETECT_KERNELS_H
#define NSX_DETECT_KERNELS_H

#include <string.h>
#include "detect/detect.h"
#include "facts/kernel_name.h"
#include "facts/occupancy.h"

#define KERNEL_SHARE 0.1 /* share of the window from which a kernel is named */
#define LEAST_ROOM 1.25 /* multiprocessors over blocks */
enum { MOST_NAMES = 256 }; /* most names searched for a family, by time      */

struct kernel { /* summed by name or by shape, on one device */
	int64_t ns;
	uint32_t count;
	uint32_t id;	/* string, or index of shape                         */
	uint32_t rank;	/* of the name among those of kernels                */
	uint32_t first; /* its first operation                               */
};
struct table {
	struct kernel *v;
	size_t n;
	uint32_t *at; /* by shape or rank: index + 1 in unsorted v; 0: not here; NSX_NONE: no
			 room */
};
struct kernels {
	struct nsx_detect *d;
	struct table names; /* names on the limiting GPU; its `at` is freed early */
	uint64_t *has_name; /* a bit per string: it is one of those names    */
	double length_ns, kernels_ns; /* length of the window; time of its kernels */
	double beside; /* mean number of kernels at a time if they filled the window; >= 1 */
	const char *gpu; /* label of the limiting GPU */
};

/* The part of the GPU's time that kernels with this sum of lengths stand for. */
static inline double time_of(const struct kernels *k, int64_t ns)
{
	return (double)ns / k->beside;
}

static inline const struct nsx_kernel_words *words_of(const struct kernels *k, nsx_str name)
{
	return nsx_kernel_name(&k->d->facts->kernels, name)->words;
}

static inline const char *label_of(const struct kernels *k, nsx_str name)
{
	return nsx_kernel_label(&k->d->facts->kernels, name);
}

static inline bool is_looked_at(const struct kernels *k, size_t op)
{
	const struct nsx_ops *o = &k->d->trace->ops;

	return o->kind[op] == NSX_OP_KERNEL && o->cls[op] == NSX_C_COMPUTE &&
	       nsx_is_judged(k->d, nsx_op_start(o, op));
}

static inline uint32_t device_of(const struct kernels *k, const struct kernel *x)
{
	return nsx_stream_of(k->d->trace, x->first)->device;
}

static inline double sm_count_of(const struct nsx_trace *t, uint32_t device)
{
	const struct nsx_gpu_info *gpu = nsx_device_gpu(t, device);

	return gpu ? (double)NSX_MAX(0, gpu->sm_count) : 0;
}

static inline bool has_name(const struct kernels *k, nsx_str name)
{
	return k->has_name[name / 64] >> name % 64 & 1;
}

/* Who fused several kernels into this one, as its family tells (kernel_words.c); NULL: nobody. */
static inline const char *kernels_fused_by(const struct nsx_kernel_words *x)
{
	if (!strncmp(x->family, "triton ", strlen("triton ")))
		return "a compiler";
	return strncmp(x->family, "multi_tensor ", strlen("multi_tensor ")) ? NULL : "the program";
}

/* Most time first, then most calls, then by name, then the first to run. */
NSX_ORDER(cmp_kernels, struct kernel, DOWN(ns), DOWN(count), UP(rank), UP(first));

/* The compute capability of the limiting GPU. If the trace lacks it, the lowest that its
 * kernels need: a kernel built for 9.0 runs on nothing older, and cuBLAS uses nvjet kernels
 * from 9.0 on (seen on H200).
 */
struct arch {
	int64_t major, minor; /* 0: not known */
	bool is_least;
};

struct arch kernels_arch(const struct kernels *k);

/* Sums compute kernels of a device by name, or by shape; by shape only those that leave room.
 * Owner of the arrays: d->scratch.
 */
int kernels_sum(struct kernels *k, uint32_t device, bool by_shape,
		struct table *ret, struct nsx_err *err) NSX_CHECKED;

/* "29 % of GPU 0's time" */
const char *kernels_tell_share(const struct kernels *k, int64_t ns);
/* "in full: NAME"; NULL: the label is the full name already, or the name is too long to read. */
const char *kernels_full_name(const struct kernels *k, nsx_str name);
/* Adds where a kernel is launched. It goes through all operations of the device, so it is
 * called only for kernels that are told.
 */
int kernels_tell_place(struct kernels *k, bool by_shape, const struct kernel *x,
		       struct nsx_finding *f, struct nsx_err *err) NSX_CHECKED;
/* The finding on unified memory; NULL: none yet. */
const struct nsx_finding *kernels_unified_memory(const struct nsx_findings *l);

/* Kernels that belong together, and grids (kernel_kin.c, kernel_grids.c). *told is set when a
 * finding covers the kernel with most time.
 */
int kernels_propose_f32(struct kernels *k, bool *told, struct nsx_err *err) NSX_CHECKED;
int kernels_propose_elementwise(struct kernels *k, bool *told, struct nsx_err *err) NSX_CHECKED;
int kernels_propose_grids(struct kernels *k, bool *told, struct nsx_err *err) NSX_CHECKED;

#endif
