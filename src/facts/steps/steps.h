/* steps.h - the steps of an inference engine or of a training loop, told by the names
 * of its NVTX ranges (steps.def), and the GPU work they launched.
 *
 * A range inside a step of its thread is part of that step.  Names of training loops
 * count only where no engine names a step.
 */
#ifndef NSX_FACTS_STEPS_H
#define NSX_FACTS_STEPS_H

#include "facts/facts.h"

enum nsx_step_kind {
	NSX_STEP_DECODE, NSX_STEP_PREFILL, NSX_STEP_MIXED, NSX_STEP_IDLE,
	NSX_STEP_TRAINING, NSX_NSTEP_KINDS
};
extern const char *const nsx_step_kinds[NSX_NSTEP_KINDS]; /* "decode", ...  */

/* What a name says; -1: it does not. */
struct nsx_step_name {
	const char *engine;
	enum nsx_step_kind kind;
	int64_t prompts, decodes, requests, tokens;
	bool tells_decoded; /* tokens that were decoded are told              */
};
/* Whether a range's name is one of a step. */
bool nsx_step_name(const char *text, struct nsx_step_name *ret);
/* The number whose power of two classes steps of a kind by size; -1: none. */
int64_t nsx_step_size(const struct nsx_step_name *name);

/* A step on a device.  Its GPU time goes from its first work there to the first
 * work of the next step; that of the last ends with its work.
 */
struct nsx_engine_step {
	struct nsx_step_name name;
	nsx_str text;
	uint32_t process, device;
	int64_t start_ns, end_ns;	/* the range, on the host               */
	int64_t host_gap_ns;		/* to the next step of its thread; -1: it
					   is the last                          */
	int64_t gpu_start_ns, work_end_ns, gpu_end_ns; /* its last work may end
					   while the next step works   */
	int64_t launches, replays;	/* calls that launch; of graphs         */
	bool stalls; /* a prefill for which requests that decode wait        */
};
struct nsx_engine_steps {
	struct nsx_engine_step *v; /* by process, device, gpu_start_ns              */
	size_t n;
};

/* Only steps with GPU work that begins in the window in force.  O(n log n) in ranges, calls and
 * GPU work.  Owner: the caller, nsx_steps_done.  Errors: NSX_E_NOMEM.
 */
int nsx_steps_build(const struct nsx_trace *t, struct nsx_engine_steps *ret,
		    struct nsx_err *err) NSX_CHECKED;
/* Computing time of steps, by class of kernels: what a device computes in the GPU time of a
 * step is the step's, whoever launched it.
 */
enum { NSX_STEP_REPLAYS = NSX_NKERNEL_CATEGORIES, /* graphs as a whole; ... */
       NSX_STEP_CLASSES }; /* behind these the caller's own                  */
struct nsx_step_classes {
	const uint32_t *group; /* by step: whose times are added up          */
	const uint32_t *of_name; /* class, by index of facts->kernels        */
	size_t ngroups, n; /* n: classes                                     */
};
struct nsx_step_layers {
	int64_t *ns;	  /* ngroups x n                                     */
	int64_t *name_ns; /* by index of facts->kernels: in steps            */
};
/* O(n log n) in steps, linear in GPU work, but for the classes at each step's ends.  Owner:
 * the arena.  Errors: NSX_E_NOMEM.
 */
int nsx_steps_layers(const struct nsx_facts *f, const struct nsx_trace *t,
		     const struct nsx_engine_steps *steps,
		     const struct nsx_step_classes *classes, struct nsx_arena *a,
		     struct nsx_step_layers *ret, struct nsx_err *err) NSX_CHECKED;
/* The GPU time of a step of a kind, by its name, on the GPU that sets the pace: of the
 * step whose time is the median of them, or the next above it.  Errors: NSX_E_USAGE, where
 * there is none; NSX_E_NOMEM.
 */
int nsx_step_window(const struct nsx_facts *f, const struct nsx_trace *t,
		    const char *kind, struct nsx_window *ret,
		    struct nsx_err *err) NSX_CHECKED;
void nsx_steps_done(struct nsx_engine_steps *steps);

#endif
