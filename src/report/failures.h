/* failures.h - describes failed CUDA calls (schema/cuda_errors.def). */
#pragma once

#include "trace/trace.h"

/* The first failure that loses the context or means that a launch did not run; NULL: none. */
const struct nsx_failure *nsx_fatal_failure(const struct nsx_trace *t);
/* Describes a failure: "illegal memory access (CUDA error 700), first in cudaFree at 0.996s; 3
 * calls".
 */
const char *nsx_say_failure(const struct nsx_trace *t, const struct nsx_failure *x,
			    struct nsx_arena *a);
/* Advice about a failure; NULL for an unknown code. */
const char *nsx_advise_failure(const struct nsx_failure *x);
