/* kernels.h - shared by the detectors of kernels, private to detect: time in the judged window
 * summed by name or by shape, and words for it.
 */
#ifndef NSX_DETECT_KERNELS_H
#define NSX_DETECT_KERNELS_H

#include "detect/detect.h"
#include "facts/kernel_name.h"
#include "facts/occupancy.h"

#define KERNEL_SHARE 0.1 /* share of the window from which a kernel is named */
#define LEAST_ROOM 1.25 /* least ratio of multiprocessors to blocks that leaves room */
enum { MOST_NAMES = 256 }; /* most names searched for a family, those with most time */

struct kernel { /* kernels of one name or of one shape on a device, summed */
	int64_t ns;
	uint32_t count;
	uint32_t id;	/* of the string, or index of the shape              */
	uint32_t rank;	/* of the name among kernel names                    */
	uint32_t first; /* first operation                                   */
};
struct table {
	struct kernel *v;
	size_t n;
	/* by shape or rank: 1 + index in the unsorted v; 0: none; NSX_NONE: no room */
	uint32_t *at;
};
struct kernels {
	struct nsx_detect *d;
	struct table names; /* of the limiting GPU; `at` is freed early */
	double length_ns, kernels_ns; /* length of the window, and of its kernels */
	double beside; /* mean number of concurrent kernels if they filled the window; at least 1 */
	const char *gpu; /* label of the limiting GPU */
};

/* The GPU's time that kernels with this sum of lengths represent. */
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

/* Whether an operation of the judged window is a kernel that computes. */
static inline bool is_looked_at(const struct kernels *k, size_t op)
{
	const struct nsx_ops *o = &k->d->trace->ops;

	return o->kind[op] == NSX_OP_KERNEL && o->cls[op] == NSX_C_COMPUTE;
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

/* Orders by time, then calls (both descending), then name, then first operation. */
NSX_ORDER(cmp_kernels, struct kernel, DOWN(ns), DOWN(count), UP(rank), UP(first));

/* Sums compute kernels of a device by name, or by shape those that leave room. Owner of the arrays:
 * d->scratch.
 */
int kernels_sum(struct kernels *k, uint32_t device, bool by_shape,
		struct table *ret, struct nsx_err *err) NSX_CHECKED;

/* "29 % of GPU 0's time" */
const char *kernels_tell_share(const struct kernels *k, int64_t ns);
/* "in full: NAME"; NULL if the label already is the full name or the name is too long to read. */
const char *kernels_full_name(const struct kernels *k, nsx_str name);
/* Adds the place where a kernel is launched. Walks all operations of the device, so it is called
 * only for kernels that are reported.
 */
int kernels_tell_place(struct kernels *k, bool by_shape, const struct kernel *x,
		       struct nsx_finding *f, struct nsx_err *err) NSX_CHECKED;

/* Proposes small grids (kernel_grids.c). *told is set if they cover the kernel with most time. */
int kernels_propose_grids(struct kernels *k, bool *told, struct nsx_err *err) NSX_CHECKED;

#endif
