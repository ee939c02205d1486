/* engine.h - the options that describe the traced engine, shared by explain, ask and mcp. */
#pragma once

#include "cli/opt.h"
#include "passes/engine.h"

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
