/* limit.h - how much of a GPU's peak steps reach, by what the user says of the model. */
#ifndef NSX_FACTS_STEPS_LIMIT_H
#define NSX_FACTS_STEPS_LIMIT_H

#include "trace/trace.h"

/* A language model; what the file does not say is 0, gpus then 1. */
struct nsx_llm {
	int64_t parameters;	/* that each token uses                      */
	int64_t weight_bytes;	/* that a step reads; 0: of parameters       */
	int64_t layers, hidden, context; /* context: tokens, as a mean       */
	int64_t kv_bytes;	/* of the KV cache, a token                  */
	int64_t tokens;		/* of a training step                        */
	int64_t gpus;		/* that share one step                       */
	unsigned type;		/* of weights and products: as peaks.def     */
};
/* Reads a JSON object: parameters and dtype (f32, tf32, f16, bf16, fp8, fp4), and optionally
 * the others by their names here, as whole numbers.  Errors: NSX_E_USAGE naming the file.
 */
int nsx_llm_read(const char *path, struct nsx_llm *ret, struct nsx_err *err) NSX_CHECKED;

/* Of one GPU: operations and bytes for so many steps of so many tokens in all. */
double nsx_llm_operations(const struct nsx_llm *m, int64_t tokens, bool trains);
double nsx_llm_bytes(const struct nsx_llm *m, int64_t steps, int64_t decoded);
/* Peak operations a second in the model's type; 0: not known. */
double nsx_llm_peak(const struct nsx_llm *m, const struct nsx_gpu_info *gpu);

/* Peak of the tensor cores in the widest type that replaces f32 (TF32, else f16) over that of f32
 * without them; of a GPU that peaks.def does not have the least of its generation; 0: not known.
 */
double nsx_tensor_ratio(int64_t major, int64_t minor);

#endif
