/* limit.h - the operations, bytes and peak rates of a language model's steps, from the user's
 * description of the model.
 */
#pragma once

#include "facts/steps/steps.h"

/* A language model; unspecified values are 0, gpus 1. */
struct nsx_llm {
	int64_t parameters;	/* number of parameters that each token uses */
	int64_t weight_bytes;	/* bytes of weights that a step reads; 0: size of the parameters */
	int64_t layers, hidden, context; /* context: mean number of tokens   */
	int64_t kv_bytes;	/* bytes of the KV cache per token           */
	int64_t tokens;		/* number of tokens per training step        */
	int64_t gpus;		/* GPUs that share one step                  */
	unsigned type;		/* type of weights and products, as in peaks.def */
};
/* Reads a JSON object with the members parameters and dtype (f32, tf32, f16, bf16, fp8, fp4), and
 * optionally the other members by their names here, as integers; or the config.json that models of
 * transformers are published with, or its sizes by short names: layers, hidden, heads, kv_heads,
 * head_dim, ffn, expert_ffn, top_k, vocabulary. Errors: NSX_E_USAGE naming the file.
 */
int nsx_llm_read(const char *path, struct nsx_llm *ret, struct nsx_err *err) NSX_CHECKED;

/* Operations of one GPU for a total number of tokens, and bytes that it reads for a number of steps
 * and decoded tokens.
 */
double nsx_llm_operations(const struct nsx_llm *m, int64_t tokens, bool trains);
double nsx_llm_bytes(const struct nsx_llm *m, int64_t steps, int64_t decoded);
/* Peak operations per second in the model's type; 0: unknown. */
double nsx_llm_peak(const struct nsx_llm *m, const struct nsx_gpu_info *gpu);
/* The least time of a step on one GPU, which is that of its operations or of its bytes at the peak
 * rate; 0: unknown.
 */
double nsx_llm_least_ns(const struct nsx_llm *m, const struct nsx_gpu_info *gpu,
			const struct nsx_step_name *step);
/* The least time of the steps of a device, each counted for its part in the window; 0: unknown, or
 * a step is faster, which refutes the model.
 */
double nsx_llm_least_of_steps(const struct nsx_llm *m, const struct nsx_trace *t,
			      const struct nsx_engine_steps *steps, uint32_t device,
			      struct nsx_window w);

/* Peak of tensor cores in the widest type that replaces f32 (TF32, else f16), relative to
 * f32 without them. For GPUs not in peaks.def, the least of their generation; 0: unknown.
 */
double nsx_tensor_ratio(int64_t major, int64_t minor);
