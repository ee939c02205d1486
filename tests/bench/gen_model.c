/* gen_model.c - the contents of one step, mostly of training.
 *
 * A step is a list of acts that every rank plays in the same order: load a
 * batch, forward through the layers with gathered weights, backward on the
 * autograd thread while gradients are reduced, optimizer, loss. The kernel
 * type of an act is drawn once, so all steps run the same sequence, as real
 * ones do.
 */
#include "gen_model.h"

#include <stdlib.h>

enum { MAX_LAYERS = 48, KERNELS_PER_LAYER = 61, WANTED_STEPS = 16 };

static void act(struct builder *b, enum act_op op, int arg)
{
	struct model *m = b->m;

	m->acts = grow(m->acts, m->nacts + 1, sizeof(*m->acts));
	m->acts[m->nacts++] = (struct act){op, arg};
}

static void kernels(struct builder *b, enum kernel_class c, int n)
{
	while (n-- > 0)
		act(b, c == K_GEMM ? A_GEMM : A_KERNEL,
		    (int)rng_in(&b->rng, b->first[c], b->first[c + 1] - 1));
}

/* Adds n kernels of a class inside one range. */
static void op(struct builder *b, enum name name, enum kernel_class c, int n)
{
	act(b, A_PUSH, (int)name);
	kernels(b, c, n);
	act(b, A_POP, 0);
}

/* Adds an operation of n kernels inside two nested ranges. */
static void nested_op(struct builder *b, enum name outer, enum name inner,
		      enum kernel_class c, int n)
{
	act(b, A_PUSH, (int)outer);
	op(b, inner, c, n);
	act(b, A_POP, 0);
}

static void copy_op(struct builder *b, int kib)
{
	act(b, A_PUSH, NM_COPY);
	act(b, A_COPY, kib);
	act(b, A_POP, 0);
}

static void collective(struct builder *b, enum name op_name, enum name api_name, int kernel)
{
	act(b, A_PUSH, (int)op_name);
	act(b, A_PUSH, (int)api_name);
	act(b, A_COLL, b->m->first_nccl + kernel);
	act(b, A_POP, 0);
	act(b, A_POP, 0);
}

/* Adds 21 kernels, one of which is a collective, and 4 copies. */
static void forward_layer(struct builder *b, int layer)
{
	act(b, A_WAIT_COMM, 0);
	collective(b, NM_OP_GATHER, NM_NCCL_GATHER, 1);
	nested_op(b, NM_LAYER_NORM, NM_NATIVE_NORM, K_NORM, 1);
	nested_op(b, NM_LINEAR, NM_ADDMM, K_GEMM, 1);
	copy_op(b, 4096);
	kernels(b, K_ELEM, 3);
	op(b, NM_ATTENTION, K_ATTN, 1);
	act(b, A_COPY, 2048);
	op(b, NM_LINEAR, K_GEMM, 1);
	op(b, NM_ADD, K_BIG, 2);
	nested_op(b, NM_LAYER_NORM, NM_NATIVE_NORM, K_NORM, 1);
	op(b, NM_LINEAR, K_GEMM, 1);
	op(b, NM_GELU, K_BIG, 2);
	op(b, NM_LINEAR, K_GEMM, 1);
	act(b, A_COPY, 64);
	op(b, NM_DROPOUT, K_ELEM, 2);
	kernels(b, K_TINY, 3);
	op(b, layer % 2 ? NM_TO : NM_MUL, K_ELEM, 1);
	copy_op(b, 8192);
}

/* Adds 34 kernels, one of which is a collective, 5 copies and 2 memsets. */
static void backward_layer(struct builder *b, int layer)
{
	nested_op(b, NM_BW_ADD, NM_MUL, K_BIG, 2);
	nested_op(b, NM_BW_ADDMM, NM_MM, K_GEMM, 2);
	op(b, NM_SUM, K_RED, 1);
	op(b, NM_ACCUMULATE, K_ELEM, 1);
	op(b, NM_BW_GELU, K_BIG, 2);
	copy_op(b, 8192);
	nested_op(b, NM_BW_ADDMM, NM_MM, K_GEMM, 2);
	act(b, A_MEMSET, 0);
	op(b, NM_SUM, K_RED, 1);
	op(b, NM_ACCUMULATE, K_ELEM, 1);
	op(b, NM_BW_NORM, K_NORM, 2);
	act(b, A_COPY, 1024);
	kernels(b, K_ELEM, 4);
	nested_op(b, NM_BW_ADDMM, NM_MM, K_GEMM, 2);
	act(b, A_COPY, 4096);
	op(b, NM_BW_ATTENTION, K_ATTN, 1);
	kernels(b, K_TINY, 3);
	act(b, A_COPY, 512);
	nested_op(b, NM_BW_ADDMM, NM_MM, K_GEMM, 2);
	act(b, A_MEMSET, 0);
	op(b, NM_SUM, K_RED, 1);
	op(b, NM_ACCUMULATE, K_ELEM, 1);
	op(b, layer % 2 ? NM_CAT : NM_ADD, K_ELEM, 2);
	op(b, NM_BW_NORM, K_NORM, 3);
	copy_op(b, 2048);
	collective(b, NM_OP_REDUCE, NM_NCCL_REDUCE, 0);
}

/* Adds 6 kernels for each layer, most of them shorter than their launch call. */
static void optimizer(struct builder *b, int layers)
{
	act(b, A_PUSH, NM_OPTIMIZER);
	act(b, A_WAIT_COMM, 0);
	for (int i = 0; i < layers; i++) {
		op(b, NM_FUSED_ADAMW, K_OPT, 1);
		kernels(b, K_TINY, 5);
	}
	act(b, A_POP, 0);
	op(b, NM_ZERO, K_TINY, 2);
}

/* Plays a server that generates tokens for a batch: every step ends with a wait for the sampled
 * tokens.
 */
static void serving_step(struct builder *b, int layers)
{
	act(b, A_STEP, NM_STEP);
	act(b, A_LOAD, 0);
	for (int i = 0; i < layers; i++) {
		kernels(b, K_NORM, 1);
		kernels(b, K_GEMM, 1);
		kernels(b, K_ELEM, 2);
		kernels(b, K_ATTN, 1);
		kernels(b, K_GEMM, 1);
		kernels(b, K_NORM, 1);
		kernels(b, K_GEMM, 2);
		kernels(b, K_BIG, 1);
	}
	kernels(b, K_TINY, 5);
	act(b, A_LOSS, 0);
	act(b, A_END, 0);
}

/* Adds a time step of a solver: sweeps, exchanged edges, a norm that is read back. */
static void hpc_step(struct builder *b, int layers)
{
	act(b, A_STEP, NM_STEP);
	for (int i = 0; i < layers; i++) {
		for (int k = 0; k < 6; k++)
			act(b, A_KERNEL, b->first[K_BIG] + k % 3);
		act(b, A_COPY, 256);
		act(b, A_MEMSET, 0);
		act(b, A_KERNEL, b->first[K_RED]);
		if (i % 4 == 3)
			act(b, A_LOSS, 0);
	}
	act(b, A_LOSS, 0);
	act(b, A_END, 0);
}

static void metrics_step(struct builder *b, int layers)
{
	act(b, A_STEP, NM_STEP);
	act(b, A_LOAD, 0);
	for (int i = 0; i < 4 * layers; i++) {
		op(b, NM_MUL, K_ELEM, 8);
		op(b, NM_ADD, K_BIG, 8);
	}
	act(b, A_LOSS, 0);
	act(b, A_END, 0);
}

static void training_step(struct builder *b, int layers)
{
	act(b, A_STEP, NM_STEP);
	act(b, A_LOAD, 0);
	act(b, A_PUSH, NM_FORWARD);
	for (int i = 0; i < layers; i++) {
		if (i == layers / 2)
			act(b, A_PREFETCH, 16384);
		forward_layer(b, i);
	}
	act(b, A_POP, 0);
	act(b, A_PUSH, NM_BACKWARD);
	act(b, A_BACKWARD, 0);
	for (int i = 0; i < layers; i++)
		backward_layer(b, i);
	act(b, A_MAIN, 0);
	act(b, A_POP, 0);
	optimizer(b, layers);
	act(b, A_PUSH, NM_ITEM);
	act(b, A_LOSS, 0);
	act(b, A_POP, 0);
	act(b, A_END, 0);
}

void model_init(struct model *m, struct out *o, const struct opts *opts)
{
	static void (*const steps[SH_COUNT])(struct builder *, int) = {
	    [SH_TRAINING] = training_step,
	    [SH_SERVING] = serving_step,
	    [SH_HPC] = hpc_step,
	    [SH_METRICS] = metrics_step,
	};
	struct builder b = {.m = m, .o = o, .rng = {opts->seed ^ 0x6d6f64656c}};
	int64_t layers = opts->kernels / opts->procs / WANTED_STEPS / KERNELS_PER_LAYER;

	*m = (struct model){0};
	add_names(&b, opts->worst);
	add_kernels(&b, opts->worst);
	if (layers < 1)
		layers = 1;
	if (layers > MAX_LAYERS)
		layers = MAX_LAYERS;
	steps[opts->shape](&b, (int)layers);
}

void model_done(struct model *m)
{
	for (int i = 0; i < m->nkernels; i++) {
		free(m->kernels[i].name);
		free(m->kernels[i].short_name);
	}
	free(m->kernels);
	free(m->names);
	free(m->acts);
}
