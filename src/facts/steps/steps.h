/* steps.h - steps of an inference engine or training loop, recognised by names of NVTX ranges
 * (steps.def), with the GPU work they launched.
 *
 * A range inside a step of its thread belongs to that step. Names of training loops count only in
 * processes without an engine's step names.
 */
#pragma once

#include "facts/facts.h"

enum nsx_step_kind {
	NSX_STEP_DECODE, NSX_STEP_PREFILL, NSX_STEP_MIXED, NSX_STEP_IDLE,
	NSX_STEP_TRAINING, NSX_NSTEP_KINDS
};
extern const char *const nsx_step_kinds[NSX_NSTEP_KINDS]; /* "decode", ...  */

/* fields of a step's name; a number of -1 is not in the name */
struct nsx_step_name {
	const char *engine;
	enum nsx_step_kind kind;
	int64_t prompts, decodes, requests, tokens;
	bool tells_decoded; /* the name has a number of decoded tokens        */
};
/* Reads the step names of the user's own engine: a JSON object of kinds ("decode", ..., or
 * "counted"), each with a pattern as in steps.def or a list of patterns. Errors:
 * NSX_E_USAGE naming the file. Owner: the caller, nsx_step_patterns_free.
 */
struct nsx_step_patterns;
int nsx_step_patterns_read(const char *path, struct nsx_step_patterns **ret,
			   struct nsx_err *err) NSX_CHECKED;
void nsx_step_patterns_free(struct nsx_step_patterns *p); /* NULL is fine    */
/* Whether a range's name is that of a step. The patterns `own` are tried first; it may be NULL. */
bool nsx_step_name(const struct nsx_step_patterns *own, const char *text,
		   struct nsx_step_name *ret);
/* The number by which reports group steps of a kind, in powers of two; -1: none. */
int64_t nsx_step_size(const struct nsx_step_name *name);

/* A step on a device. Its GPU time lasts from its first operation there to the next step's first;
 * the last step ends with its last operation. Copies beside kernels of earlier steps start none.
 */
struct nsx_engine_step {
	struct nsx_step_name name;
	nsx_str text;
	uint32_t process, thread, device;
	int64_t start_ns, end_ns;	/* its range on the host                */
	int64_t host_gap_ns;		/* time to the thread's next step, 0 if they
					   overlap; -1: the last                */
	int64_t gpu_start_ns, work_end_ns, gpu_end_ns; /* its last work may overlap the
							  next step    */
	int64_t main_start_ns, main_end_ns; /* span of its kernels and replays, else of all work */
	int64_t launches, replays;	/* number of launch calls; of graph launches */
	bool stalls; /* decoding requests wait for this prefill              */
};
struct nsx_engine_steps {
	struct nsx_engine_step *v; /* sorted by process, device, gpu_start_ns       */
	size_t n;
};

/* Finds steps with GPU work that begins in the window in use. O(n log n) in ranges, calls
 * and GPU work. Owner: the caller, nsx_steps_done. Errors: NSX_E_NOMEM.
 */
int nsx_steps_build(const struct nsx_trace *t, struct nsx_engine_steps *ret,
		    struct nsx_err *err) NSX_CHECKED;
/* Compute time of steps by class of kernels: all compute of a device in a step's GPU time
 * belongs to the step, whoever launched it.
 */
enum { NSX_STEP_REPLAYS = NSX_NKERNEL_CATEGORIES, /* class of whole graph replays */
       NSX_STEP_CLASSES }; /* first of the caller's own classes              */
struct nsx_step_classes {
	const uint32_t *group; /* by step: the group to which its time is added */
	const uint32_t *of_name; /* by index in facts->kernels: class        */
	size_t ngroups, n; /* n: number of classes                           */
};
struct nsx_step_layers {
	int64_t *ns;	  /* by group and class: group * n + class           */
	int64_t *name_ns; /* by index in facts->kernels: time in steps       */
};
/* O(n log n) in steps and linear in GPU work, plus the classes at each step's ends. Owner:
 * the arena. Errors: NSX_E_NOMEM.
 */
int nsx_steps_layers(const struct nsx_facts *f, const struct nsx_trace *t,
		     const struct nsx_engine_steps *steps,
		     const struct nsx_step_classes *classes, struct nsx_arena *a,
		     struct nsx_step_layers *ret, struct nsx_err *err) NSX_CHECKED;
/* The GPU time of a typical step of this kind on the GPU that sets the pace: the step of median
 * length, or the next longer one. Errors: NSX_E_USAGE if there is none; NSX_E_NOMEM.
 */
int nsx_step_window(const struct nsx_facts *f, const struct nsx_trace *t, const char *kind,
		    struct nsx_window *ret, struct nsx_err *err) NSX_CHECKED;
void nsx_steps_done(struct nsx_engine_steps *steps);
