/* category.c - substrings of kernel names, in order: the first that occurs
 * decides. More telling words come before words that occur within others.
 * From names seen in PyTorch, cuBLAS, cuDNN, CUTLASS, Triton, FlashAttention,
 * vLLM, CUB, Thrust and CuPy traces.  Parts of a convolution count as gemm,
 * pooling and sorting as reduce.
 */
#include <stddef.h>
#include <string.h>
#include "base/base.h"
#include "facts/category.h"

static const struct {
	const char *pattern, *category;
} patterns[] = {
	{"flash_", "attention"}, {"flash::", "attention"},
	{"FlashAttn", "attention"}, {"fmha", "attention"},
	{"sdpa", "attention"}, {"attention", "attention"},
	{"Attention", "attention"}, {"attn", "attention"},
	{"paged_", "attention"}, {"BatchPrefill", "attention"},
	{"BatchDecode", "attention"}, {"SinglePrefill", "attention"},
	{"SingleDecode", "attention"},
	{"moe", "moe"}, {"expert", "moe"}, {"topk_gating", "moe"},
	{"permute_", "moe"},
	{"layer_norm", "norm"}, {"layernorm", "norm"}, {"LayerNorm", "norm"},
	{"rms_norm", "norm"}, {"rmsnorm", "norm"}, {"RMSNorm", "norm"},
	{"batch_norm", "norm"}, {"bn_fw", "norm"}, {"bn_bw", "norm"},
	{"groupnorm", "norm"}, {"GroupNorm", "norm"},
	{"pooling", "reduce"}, {"_pool", "reduce"}, {"DeviceReduce", "reduce"},
	{"DeviceScan", "reduce"}, {"DeviceRadixSort", "reduce"},
	{"DeviceMergeSort", "reduce"},
	{"permutationKernel", "memory"}, {"ToNhwc", "memory"},
	{"ToNchw", "memory"}, {"genericReformat", "memory"},
	{"gemm", "gemm"}, {"gemv", "gemm"}, {"cutlass", "gemm"},
	{"cublas", "gemm"}, {"matmul", "gemm"}, {"_mma_", "gemm"},
	{"wgmma", "gemm"}, {"nvjet", "gemm"}, {"xmma", "gemm"},
	{"convolve", "gemm"}, {"conv2d", "gemm"}, {"wgrad", "gemm"},
	{"dgrad", "gemm"}, {"fprop", "gemm"}, {"scudnn_", "gemm"},
	{"winograd", "gemm"}, {"fft2d_", "gemm"}, {"im2col", "gemm"},
	{"col2im", "gemm"}, {"triton_tem", "gemm"},
	{"rotary", "elementwise"}, {"act_and_mul", "elementwise"},
	{"memcpy", "memory"}, {"memset", "memory"}, {"copy", "memory"},
	{"Copy", "memory"}, {"transpose", "memory"}, {"gather", "memory"},
	{"scatter", "memory"}, {"embedding", "memory"}, {"index_", "memory"},
	{"indexing_", "memory"}, {"Index", "memory"}, {"fill_", "memory"},
	{"_fill:", "memory"}, {"FillFunctor", "memory"},
	{"CatArray", "memory"},
	{"softmax", "reduce"}, {"SoftMax", "reduce"}, {"reduce", "reduce"},
	{"Reduce", "reduce"}, {"nvfuser_reduction", "reduce"},
	{"nvfuser_inner", "reduce"}, {"nvfuser_outer", "reduce"},
	{"triton_red", "reduce"}, {"triton_per", "reduce"}, {"scan", "reduce"},
	{"Scan", "reduce"}, {"sort", "reduce"}, {"Sort", "reduce"},
	{"topk", "reduce"}, {"argmax", "reduce"},
	{"elementwise", "elementwise"}, {"Elementwise", "elementwise"},
	{"pointwise", "elementwise"}, {"triton_poi", "elementwise"},
	{"vectorized", "elementwise"}, {"activation", "elementwise"},
	{"silu", "elementwise"}, {"gelu", "elementwise"},
	{"multi_tensor_apply", "elementwise"}, {"adam", "elementwise"},
	{"dropout", "elementwise"}, {"ary_transform_f", "elementwise"},
	{"tabulate", "elementwise"}, {"cupy_", "elementwise"},
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
