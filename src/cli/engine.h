/* engine.h - what the user says about the traced engine: three options with files, shared by
 * explain, ask and mcp.
 */
#pragma once

#include "cli/opt.h"
#include "facts/steps/limit.h"
#include "report/opts.h"

struct nsx_engine {
	/* The paths of the three files; NULL: not given. */
	const char *classes_path, *model_path, *steps_path;
	struct nsx_phase_map *classes;
	struct nsx_step_patterns *steps;
	struct nsx_llm model;
};

#define NSX_OPTS_ENGINE(T)                                                    \
	NSX_OPT(T, 0, "kernel-classes", NULL, "FILE", STR, engine.classes_path, \
	    "JSON object that maps classes of kernels, such as attention or one of " \
	    "your own, to names of kernels: the layers of steps"),            \
	NSX_OPT(T, 0, "model", NULL, "FILE", STR, engine.model_path,          \
	    "JSON object with the parameters and dtype of the language model that " \
	    "runs, or its config.json: what share of the GPU's peak its steps reach"), \
	NSX_OPT_STEPS_FROM(T, engine.steps_path)

/* The option for steps alone, for commands that show no layers. */
#define NSX_OPT_STEPS_FROM(T, field)                                          \
	NSX_OPT(T, 0, "steps-from", NULL, "FILE", STR, field,                 \
	    "JSON object that maps kinds of steps (decode, prefill, mixed, idle, " \
	    "training, counted) to names of NVTX ranges. In a name, %d stands "  \
	    "for a number of decodes, %p of prompts, %r of requests, %t of "    \
	    "tokens, %n for any number, and * for any end")

/* Reads the given files; opts borrows their content. Errors: NSX_E_USAGE. Owner: the caller,
 * nsx_engine_done, even after a failure.
 */
int nsx_engine_read(struct nsx_engine *e, struct nsx_opts *opts, struct nsx_err *err) NSX_CHECKED;
/* Appends the options as words of a command line. */
void nsx_engine_say(const struct nsx_engine *e, struct nsx_buf *b);
void nsx_engine_done(struct nsx_engine *e);
