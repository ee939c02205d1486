/* category.c - substrings of what a kernel is called, in order: the first that
 * occurs decides.  More telling words come before words that occur within others.
 * From names seen in PyTorch, cuBLAS, cuDNN, CUTLASS, Triton, FlashAttention,
 * vLLM, CUB, Thrust and CuPy traces.  Parts of a convolution count as gemm,
 * pooling and scans as reduce.
 */
#include <string.h>
#include "facts/category.h"

const char *const nsx_kernel_category_names[NSX_NKERNEL_CATEGORIES] = {
	[NSX_K_OTHER] = "other", [NSX_K_GEMM] = "gemm", [NSX_K_ATTENTION] = "attention",
	[NSX_K_NORM] = "norm", [NSX_K_ELEMENTWISE] = "elementwise",
	[NSX_K_REDUCE] = "reduce", [NSX_K_SORT] = "sort", [NSX_K_MOE] = "moe",
	[NSX_K_COMM] = "comm", [NSX_K_MEMORY] = "memory",
};

static const struct {
	enum nsx_kernel_category category;
	const char *patterns[21]; /* NULL: no more */
} rules[] = {
	{NSX_K_MEMORY, {"reshape_and_cache", "concat_and_cache"}},
	{NSX_K_ATTENTION, {"flash_", "flash::", "FlashAttn", "fmha", "sdpa",
		"attention", "Attention", "attn", "paged_", "BatchPrefill",
		"BatchDecode", "SinglePrefill", "SingleDecode"}},
	{NSX_K_MOE, {"moe", "expert", "topk_gating", "permute_"}},
	{NSX_K_NORM, {"layer_norm", "layernorm", "LayerNorm", "rms_norm",
		"rmsnorm", "RMSNorm", "batch_norm", "bn_fw", "bn_bw",
		"groupnorm", "GroupNorm"}},
	{NSX_K_REDUCE, {"pooling", "_pool", "DeviceReduce", "DeviceScan"}},
	{NSX_K_SORT, {"DeviceRadixSort", "DeviceMergeSort"}},
	{NSX_K_MEMORY, {"permutationKernel", "ToNhwc", "ToNchw",
		"genericReformat"}},
	{NSX_K_GEMM, {"gemm", "gemv", "cutlass", "cublas", "matmul", "_mma_",
		"wgmma", "nvjet", "xmma", "convolve", "conv2d", "wgrad",
		"dgrad", "fprop", "scudnn_", "winograd", "fft2d_", "im2col",
		"col2im", "triton_tem"}},
	{NSX_K_ELEMENTWISE, {"rotary", "act_and_mul"}},
	{NSX_K_MEMORY, {"memcpy", "memset", "copy", "Copy", "transpose",
		"gather", "scatter", "embedding", "index_", "indexing_",
		"Index", "fill_", "_fill:", "FillFunctor", "CatArray"}},
	{NSX_K_REDUCE, {"softmax", "SoftMax", "reduce", "Reduce",
		"nvfuser_reduction", "nvfuser_inner", "nvfuser_outer",
		"triton_red", "triton_per", "scan", "Scan"}},
	{NSX_K_SORT, {"sort", "Sort"}},
	{NSX_K_REDUCE, {"topk", "argmax"}},
	{NSX_K_ELEMENTWISE, {"elementwise", "Elementwise", "pointwise",
		"triton_poi", "vectorized", "activation", "silu", "gelu",
		"multi_tensor_apply", "adam", "dropout", "ary_transform_f",
		"tabulate", "cupy_"}},
};

/* A bit for each pair of neighbouring letters, whatever their case, that a text
 * has: most patterns are ruled out by their first letters.
 */
enum { PAIR_BITS = 1024 };
struct pairs {
	uint64_t bits[PAIR_BITS / 64];
};

static unsigned pair_at(const char *p)
{
	return (p[0] & 31u) << 5 | (p[1] & 31u);
}

static bool has_pair(const struct pairs *x, const char *p)
{
	return x->bits[pair_at(p) / 64] >> pair_at(p) % 64 & 1;
}

enum nsx_kernel_category nsx_category_of(const char *p, size_t n,
					 const char **ret_pattern)
{
	struct pairs pairs = {{0}};

	for (size_t i = 0; i + 1 < n; i++)
		pairs.bits[pair_at(p + i) / 64] |= UINT64_C(1)
						   << pair_at(p + i) % 64;
	for (unsigned i = 0; i < ARRAY_LEN(rules); i++)
		for (const char *const *at = rules[i].patterns; *at; at++) {
			if (!has_pair(&pairs, *at) ||
			    !has_pair(&pairs, *at + 1) ||
			    !memmem(p, n, *at, strlen(*at)))
				continue;
			if (ret_pattern)
				*ret_pattern = *at;
			return rules[i].category;
		}
	return NSX_K_OTHER;
}
