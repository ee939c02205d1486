/* kernels.h - what the detectors of kernels share: sums by name and by shape of what the
 * judged window has, and how one is told; private to detect.
 */
#ifndef NSX_DETECT_KERNELS_H
#define NSX_DETECT_KERNELS_H

#include <string.h>
#include "detect/detect.h"
#include "facts/kernel_name.h"
#include "facts/occupancy.h"

#define KERNEL_SHARE 0.1 /* of the window, from which a kernel is named */
#define LEAST_ROOM 1.25 /* multiprocessors over blocks */
enum { MOST_NAMES = 256 }; /* looked at for a family, in order of time       */

struct kernel { /* by name, or by shape; on one device */
	int64_t ns;
	uint32_t count;
	uint32_t id;	/* string, or index of shape                         */
	uint32_t rank;	/* of the name among those of kernels                */
	uint32_t first; /* op of it                                          */
};
struct table {
	struct kernel *v;
	size_t n;
	uint32_t *at; /* index + 1 before v was sorted, by shape or rank;
			 0: not here; NSX_NONE: has no room                  */
};
struct kernels {
	struct nsx_detect *d;
	struct table names; /* on the limiting GPU; at: was given back       */
	uint64_t *has_name; /* bits, by string: of those                     */
	double length_ns, kernels_ns; /* of the window, and of its kernels    */
	double beside; /* kernels at a time, if they filled the window; >= 1 */
	const char *gpu; /* the limiting one's label */
};

/* What of its time the GPU has for those that take so long one after another. */
static inline double time_of(const struct kernels *k, int64_t ns)
{
	return (double)ns / k->beside;
}

static inline const struct nsx_kernel_words *words_of(const struct kernels *k,
						      nsx_str name)
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

/* Who made one kernel of what were many; NULL: nobody, as far as its family tells
 * (kernel_words.c).
 */
static inline const char *kernels_fused_by(const struct nsx_kernel_words *x)
{
	if (!strncmp(x->family, "triton ", strlen("triton ")))
		return "a compiler";
	return strncmp(x->family, "multi_tensor ", strlen("multi_tensor ")) ?
		       NULL : "the program";
}

/* By time, then by what is shown, then by which ran first. */
NSX_ORDER(cmp_kernels, struct kernel, DOWN(ns), DOWN(count), UP(rank),
	  UP(first));

/* The compute capability of the limiting GPU.  Where the trace does not hold it,
 * the least that its kernels need: one made for 9.0 runs on nothing older, and
 * cuBLAS has nvjet from there on (seen on H200).
 */
struct arch {
	int64_t major, minor; /* 0: not known */
	bool is_least;
};

struct arch kernels_arch(const struct kernels *k);

/* By name, or by shape: those with room.  Arrays: of d->scratch. */
int kernels_sum(struct kernels *k, uint32_t device, bool by_shape,
		struct table *ret, struct nsx_err *err) NSX_CHECKED;

/* "29 % of GPU 0's time" */
const char *kernels_tell_share(const struct kernels *k, int64_t ns);
/* "in full: NAME"; NULL: the label is all of it, or it would fill a page. */
const char *kernels_full_name(const struct kernels *k, nsx_str name);
/* Where a kernel is launched: looked for among all its calls only once it is told
 * of.
 */
int kernels_tell_place(struct kernels *k, bool by_shape, const struct kernel *x,
		       struct nsx_finding *f, struct nsx_err *err) NSX_CHECKED;
/* What was found of unified memory before; NULL: nothing. */
const struct nsx_finding *kernels_unified_memory(const struct nsx_findings *l);

/* Kernels that belong together, and grids (kernel_kin.c, kernel_grids.c).  *told is set
 * where the kernel that takes most is told by them.
 */
int kernels_propose_f32(struct kernels *k, bool *told, struct nsx_err *err) NSX_CHECKED;
int kernels_propose_elementwise(struct kernels *k, bool *told,
				struct nsx_err *err) NSX_CHECKED;
int kernels_propose_grids(struct kernels *k, bool *told, struct nsx_err *err) NSX_CHECKED;

#endif
