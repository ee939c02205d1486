/* category.c - substrings of kernel names, in order: the first that occurs
 * decides. More telling words come before words that occur within others.
 * From names seen in PyTorch, cuBLAS, CUTLASS, Triton, FlashAttention and
 * vLLM traces.
 */
#include <stddef.h>
#include <string.h>
#include "nsx/base.h"
#include "nsx/category.h"

static const struct {
	const char *pattern, *category;
} patterns[] = {
	{"flash_", "attention"},     {"fmha", "attention"},
	{"attention", "attention"},  {"attn", "attention"},
	{"paged_", "attention"},     {"moe", "moe"},
	{"expert", "moe"},	     {"topk_gating", "moe"},
	{"permute_", "moe"},	     {"layer_norm", "norm"},
	{"layernorm", "norm"},	     {"rms_norm", "norm"},
	{"rmsnorm", "norm"},	     {"batch_norm", "norm"},
	{"bn_fw", "norm"},	     {"bn_bw", "norm"},
	{"groupnorm", "norm"},	     {"gemm", "gemm"},
	{"gemv", "gemm"},	     {"cutlass", "gemm"},
	{"cublas", "gemm"},	     {"matmul", "gemm"},
	{"_mma_", "gemm"},	     {"wgmma", "gemm"},
	{"nvjet", "gemm"},	     {"xmma", "gemm"},
	{"convolve", "gemm"},	     {"conv2d", "gemm"},
	{"wgrad", "gemm"},	     {"dgrad", "gemm"},
	{"fprop", "gemm"},	     {"memcpy", "memory"},
	{"memset", "memory"},	     {"copy", "memory"},
	{"Copy", "memory"},	     {"transpose", "memory"},
	{"gather", "memory"},	     {"scatter", "memory"},
	{"index_", "memory"},	     {"Index", "memory"},
	{"fill_", "memory"},	     {"FillFunctor", "memory"},
	{"CatArray", "memory"},	     {"softmax", "reduce"},
	{"SoftMax", "reduce"},	     {"reduce", "reduce"},
	{"Reduce", "reduce"},	     {"scan", "reduce"},
	{"sort", "reduce"},	     {"elementwise", "elementwise"},
	{"Elementwise", "elementwise"}, {"pointwise", "elementwise"},
	{"triton_poi", "elementwise"}, {"vectorized", "elementwise"},
	{"activation", "elementwise"}, {"silu", "elementwise"},
	{"gelu", "elementwise"},     {"multi_tensor_apply", "elementwise"},
	{"adam", "elementwise"},     {"rotary", "elementwise"},
	{"dropout", "elementwise"},
};

const char *nsx_kernel_category(const char *full_name,
				const char **ret_pattern)
{
	for (unsigned i = 0; i < ARRAY_LEN(patterns); i++)
		if (strstr(full_name, patterns[i].pattern)) {
			if (ret_pattern)
				*ret_pattern = patterns[i].pattern;
			return patterns[i].category;
		}
	if (ret_pattern)
		*ret_pattern = NULL;
	return "other";
}
