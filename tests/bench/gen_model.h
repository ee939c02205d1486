/* gen_model.h - the interface between the two parts that build the workload: names and kernel types
 * (gen_names.c), and the acts that use them (gen_model.c).
 */
#ifndef BENCH_GEN_MODEL_H
#define BENCH_GEN_MODEL_H

#include "gen.h"

#include <stdarg.h>

enum kernel_class {
	K_TINY, /* a few threads: shorter than its launch */
	K_ELEM,
	K_BIG, /* bound by memory bandwidth */
	K_RED,
	K_NORM,
	K_ATTN,
	K_GEMM,
	K_OPT,
	K_COMM, /* the last: NCCL */
	K_CLASSES
};

struct builder {
	struct model *m;
	struct out *o;
	struct rng rng;
	int first[K_CLASSES + 1]; /* kernel types of a class begin here */
};

void add_names(struct builder *b, enum worst worst);
void add_kernels(struct builder *b, enum worst worst);

#endif
