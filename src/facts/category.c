/* category.c - substrings of what a kernel is called, in order: the first that
 * occurs decides.  More telling words come before words that occur within others.
 * From names seen in PyTorch, cuBLAS, cuDNN, CUTLASS, Triton, FlashAttention,
 * vLLM, CUB, Thrust and CuPy traces.  Parts of a convolution count as gemm,
 * pooling and scans as reduce.
 */
#include <string.h>
#include "facts/category.h"

const char *const nsx_kernel_category_names[NSX_NKERNEL_CATEGORIES] = {
	"other", "gemm", "attention", "norm", "elementwise", "reduce", "sort",
	"moe", "comm", "memory",
};

static const struct {
	const char *pattern;
	enum nsx_kernel_category category;
} patterns[] = {
	{"flash_", NSX_K_ATTENTION}, {"flash::", NSX_K_ATTENTION},
	{"FlashAttn", NSX_K_ATTENTION}, {"fmha", NSX_K_ATTENTION},
	{"sdpa", NSX_K_ATTENTION}, {"attention", NSX_K_ATTENTION},
	{"Attention", NSX_K_ATTENTION}, {"attn", NSX_K_ATTENTION},
	{"paged_", NSX_K_ATTENTION}, {"BatchPrefill", NSX_K_ATTENTION},
	{"BatchDecode", NSX_K_ATTENTION}, {"SinglePrefill", NSX_K_ATTENTION},
	{"SingleDecode", NSX_K_ATTENTION},
	{"moe", NSX_K_MOE}, {"expert", NSX_K_MOE}, {"topk_gating", NSX_K_MOE},
	{"permute_", NSX_K_MOE},
	{"layer_norm", NSX_K_NORM}, {"layernorm", NSX_K_NORM}, {"LayerNorm", NSX_K_NORM},
	{"rms_norm", NSX_K_NORM}, {"rmsnorm", NSX_K_NORM}, {"RMSNorm", NSX_K_NORM},
	{"batch_norm", NSX_K_NORM}, {"bn_fw", NSX_K_NORM}, {"bn_bw", NSX_K_NORM},
	{"groupnorm", NSX_K_NORM}, {"GroupNorm", NSX_K_NORM},
	{"pooling", NSX_K_REDUCE}, {"_pool", NSX_K_REDUCE}, {"DeviceReduce", NSX_K_REDUCE},
	{"DeviceScan", NSX_K_REDUCE}, {"DeviceRadixSort", NSX_K_SORT},
	{"DeviceMergeSort", NSX_K_SORT},
	{"permutationKernel", NSX_K_MEMORY}, {"ToNhwc", NSX_K_MEMORY},
	{"ToNchw", NSX_K_MEMORY}, {"genericReformat", NSX_K_MEMORY},
	{"gemm", NSX_K_GEMM}, {"gemv", NSX_K_GEMM}, {"cutlass", NSX_K_GEMM},
	{"cublas", NSX_K_GEMM}, {"matmul", NSX_K_GEMM}, {"_mma_", NSX_K_GEMM},
	{"wgmma", NSX_K_GEMM}, {"nvjet", NSX_K_GEMM}, {"xmma", NSX_K_GEMM},
	{"convolve", NSX_K_GEMM}, {"conv2d", NSX_K_GEMM}, {"wgrad", NSX_K_GEMM},
	{"dgrad", NSX_K_GEMM}, {"fprop", NSX_K_GEMM}, {"scudnn_", NSX_K_GEMM},
	{"winograd", NSX_K_GEMM}, {"fft2d_", NSX_K_GEMM}, {"im2col", NSX_K_GEMM},
	{"col2im", NSX_K_GEMM}, {"triton_tem", NSX_K_GEMM},
	{"rotary", NSX_K_ELEMENTWISE}, {"act_and_mul", NSX_K_ELEMENTWISE},
	{"memcpy", NSX_K_MEMORY}, {"memset", NSX_K_MEMORY}, {"copy", NSX_K_MEMORY},
	{"Copy", NSX_K_MEMORY}, {"transpose", NSX_K_MEMORY}, {"gather", NSX_K_MEMORY},
	{"scatter", NSX_K_MEMORY}, {"embedding", NSX_K_MEMORY}, {"index_", NSX_K_MEMORY},
	{"indexing_", NSX_K_MEMORY}, {"Index", NSX_K_MEMORY}, {"fill_", NSX_K_MEMORY},
	{"_fill:", NSX_K_MEMORY}, {"FillFunctor", NSX_K_MEMORY},
	{"CatArray", NSX_K_MEMORY},
	{"softmax", NSX_K_REDUCE}, {"SoftMax", NSX_K_REDUCE}, {"reduce", NSX_K_REDUCE},
	{"Reduce", NSX_K_REDUCE}, {"nvfuser_reduction", NSX_K_REDUCE},
	{"nvfuser_inner", NSX_K_REDUCE}, {"nvfuser_outer", NSX_K_REDUCE},
	{"triton_red", NSX_K_REDUCE}, {"triton_per", NSX_K_REDUCE}, {"scan", NSX_K_REDUCE},
	{"Scan", NSX_K_REDUCE}, {"sort", NSX_K_SORT}, {"Sort", NSX_K_SORT},
	{"topk", NSX_K_REDUCE}, {"argmax", NSX_K_REDUCE},
	{"elementwise", NSX_K_ELEMENTWISE}, {"Elementwise", NSX_K_ELEMENTWISE},
	{"pointwise", NSX_K_ELEMENTWISE}, {"triton_poi", NSX_K_ELEMENTWISE},
	{"vectorized", NSX_K_ELEMENTWISE}, {"activation", NSX_K_ELEMENTWISE},
	{"silu", NSX_K_ELEMENTWISE}, {"gelu", NSX_K_ELEMENTWISE},
	{"multi_tensor_apply", NSX_K_ELEMENTWISE}, {"adam", NSX_K_ELEMENTWISE},
	{"dropout", NSX_K_ELEMENTWISE}, {"ary_transform_f", NSX_K_ELEMENTWISE},
	{"tabulate", NSX_K_ELEMENTWISE}, {"cupy_", NSX_K_ELEMENTWISE},
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
	for (unsigned i = 0; i < ARRAY_LEN(patterns); i++) {
		const char *pattern = patterns[i].pattern;

		if (!has_pair(&pairs, pattern) ||
		    !has_pair(&pairs, pattern + 1) ||
		    !memmem(p, n, pattern, strlen(pattern)))
			continue;
		if (ret_pattern)
			*ret_pattern = pattern;
		return patterns[i].category;
	}
	return NSX_K_OTHER;
}
