/* test_kernel_name.c - families and labels of kernels; no two kernels of a trace have equal labels.
 */
#include "../testlib.h"
#include "facts/kernel_name.h"
#include "trace/load.h"

#define ADD "void at::native::vectorized_elementwise_kernel<(int)4, "            \
	    "at::native::CUDAFunctor_add<float>, std::array<char *, "           \
	    "(unsigned long)3>>(int, T2, T3)"
#define STRIDED(f)                                                              \
	"void at::native::elementwise_kernel<(int)128, (int)2, void "           \
	"at::native::gpu_kernel_impl_nocast<" f ">(at::TensorIteratorBase &, "  \
	"const T1 &)::[lambda(int) (instance 1)]>(int, T3)"
#define COPY(t)                                                                 \
	"at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::"       \
	"[lambda() (instance 3)]::operator ()() const::[lambda(" t              \
	") (instance 1)]"

static const struct {
	const char *full, *family, *label;
	enum nsx_kernel_category category;
	enum nsx_dtype dtype;
} known[] = {
	{ADD, "elementwise add<f32>", "elementwise add<f32>",
	 NSX_K_ELEMENTWISE, NSX_D_F32},
	{STRIDED(COPY("c10::BFloat16")), "elementwise copy<bf16>",
	 "elementwise copy<bf16>", NSX_K_MEMORY, NSX_D_BF16},
	{STRIDED(COPY("long")), "elementwise copy<i64>",
	 "elementwise copy<i64>", NSX_K_MEMORY, NSX_D_I64},
	{"void at::native::unrolled_elementwise_kernel<" COPY("float")
	 ", std::array<char *, (unsigned long)2>, "
	 "at::native::memory::LoadWithCast<(int)1>>(int, T1)",
	 "elementwise cast to f32", "elementwise cast to f32",
	 NSX_K_ELEMENTWISE, NSX_D_F32},
	{"void at::native::vectorized_elementwise_kernel<(int)8, "
	 "at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase "
	 "&)::[lambda(float) (instance 1)]>(int, T2)",
	 "elementwise copy f32→bf16", "elementwise copy f32→bf16",
	 NSX_K_MEMORY, NSX_D_BF16},
	{"void at::native::reduce_kernel<(int)512, (int)1, "
	 "at::native::ReduceOp<float, at::native::func_wrapper_t<float, "
	 "at::native::sum_functor<float, float, float>::operator "
	 "()(at::TensorIterator &)::[lambda(float, float) (instance 1)]>, "
	 "unsigned int, float, (int)4>>(T3)",
	 "reduce sum<f32>", "reduce sum<f32>", NSX_K_REDUCE, NSX_D_F32},
	{"ampere_sgemm_128x64_tn", "gemm f32", "gemm f32 128×64 tn (sgemm)",
	 NSX_K_GEMM, NSX_D_F32},
	{"void implicit_convolve_sgemm<__half, __half, (int)1024, (int)5, (int)5>"
	 "(int, int, int)", "conv f16", "conv f16 (implicit_convolve_sgemm)",
	 NSX_K_GEMM, NSX_D_F16},
	{"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
	 "gemm bf16", "gemm bf16 128×128 tn (s16816gemm)", NSX_K_GEMM,
	 NSX_D_BF16},
	{"nvjet_tst_192x192_64x3_1x2_h_bz_coopB_NTN", "gemm bf16",
	 "gemm bf16 192×192 (nvjet)", NSX_K_GEMM, NSX_D_BF16},
	{"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>"
	 "(T1::Params)", "gemm f32", "gemm f32 128×256 nt (cutlass simt)",
	 NSX_K_GEMM, NSX_D_F32},
	{"cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4", "gemm tf32",
	 "gemm tf32 128×256 nn (cutlass)", NSX_K_GEMM, NSX_D_TF32},
	{"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_"
	 "warpsize1x4x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas",
	 "gemm f32", "gemm f32 64×256 tn (xmma)", NSX_K_GEMM, NSX_D_F32},
	{"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_"
	 "tilesize64x32x64_execute_kernel_cudnn_infer",
	 "conv tf32", "conv tf32 64×32 (xmma)", NSX_K_GEMM, NSX_D_TF32},
	{"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::"
	 "FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<(int)2, cute::tuple<"
	 "cute::C<(int)1>, cute::C<(int)1>, cute::C<(int)1>>, cute::tuple<"
	 "cute::C<(int)128>, cute::C<(int)176>, cute::C<(int)64>>, (int)64, "
	 "cutlass::bfloat16_t, float, cutlass::arch::Sm90, (bool)0>>>>(T1::Params)",
	 "flash_fwd d64 bf16", "flash_fwd d64 bf16", NSX_K_ATTENTION, NSX_D_BF16},
	{"void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<"
	 "cute::C<(int)16>, cute::C<(int)128>>, (int)4, cutlass::half_t>>(T1::Params)",
	 "flash_fwd_combine f16", "flash_fwd_combine f16", NSX_K_ATTENTION,
	 NSX_D_F16},
	{"void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, "
	 "(vllm::Fp8KVCacheDataType)0>(const T1 *, const T1 *, T2 *)",
	 "reshape_and_cache_flash_kernel", "reshape_and_cache_flash_kernel",
	 NSX_K_KV_CACHE, NSX_D_BF16},
	{"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128, "
	 "(int)64, cutlass::bfloat16_t>, (bool)0>(flash::Flash_fwd_params)",
	 "flash_fwd d128 bf16", "flash_fwd d128 bf16", NSX_K_ATTENTION,
	 NSX_D_BF16},
	{"triton_red_fused_mul_sum_0", "triton mul_sum", "triton mul_sum_0",
	 NSX_K_REDUCE, NSX_D_NONE},
	{"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0", /* an RMSNorm */
	 "triton _to_copy_add_mean_mul_pow_rsqrt", "triton _to_copy_add_mean_mul_pow_rsqrt_0",
	 NSX_K_NORM, NSX_D_NONE},
	{"triton_poi_fused__to_copy_mul_silu_3", "triton _to_copy_mul_silu",
	 "triton _to_copy_mul_silu_3", NSX_K_ELEMENTWISE, NSX_D_NONE},
	{"void vllm::moe::topkGatingSoftmax<(int)8, (int)128>(float const*)", "topkGatingSoftmax",
	 "topkGatingSoftmax", NSX_K_MOE, NSX_D_NONE},
	{"void tensorrt_llm::kernels::cutlass_kernels::expandInputRowsKernel<float>(float*)",
	 "expandInputRowsKernel", "expandInputRowsKernel", NSX_K_MOE, NSX_D_F32},
	{"finalizeMoeRoutingKernel", "finalizeMoeRoutingKernel", "finalizeMoeRoutingKernel",
	 NSX_K_MOE, NSX_D_NONE},
	{"void marlin::Marlin<(long)1125899906910725>(int4 const*)", "Marlin", "Marlin",
	 NSX_K_GEMM, NSX_D_NONE},
	{"void marlin_moe_wna16::Marlin<(long)1125899906910725>(int4 const*)", "Marlin", "Marlin",
	 NSX_K_MOE, NSX_D_NONE},
	{"bmm_E4m3_E4m3E4m3_Fp32_t128x16x128u2_s6_et64x16_m64x16x32",
	 "bmm_E4m3_E4m3E4m3_Fp32_t128x16x128u2_s6_et64x16_m64x16x32",
	 "bmm_E4m3_E4m3E4m3_Fp32_t128x16x128u2_s6_et64x16_m64x16x32",
	 NSX_K_GEMM, NSX_D_NONE},
	{"void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::"
	 "__merge_sort::MergeAgent<int*, cudf::reduce_by<false> >, bool, int*>"
	 "(bool, int*)", "sort", "sort merge", NSX_K_SORT, NSX_D_NONE},
	{"void cub::DeviceScanKernel<cub::Policy, int*>(int*)", "scan", "scan",
	 NSX_K_REDUCE, NSX_D_NONE},
	{"void selective_scan_fwd_kernel<Selective_Scan_fwd_kernel_traits<128, 16>>(SSMParamsBase)",
	 "selective_scan_fwd_kernel", "selective_scan_fwd_kernel", NSX_K_OTHER, NSX_D_NONE},
	{"void clover::par_ranged2d_kernel<advec_mom_kernel(int, int, "
	 "clover::Buffer2D<double> &)::[lambda(int, int) (instance 12)]>"
	 "(clover::Range2d, T1)", "advec_mom", "advec_mom #12", NSX_K_OTHER,
	 NSX_D_NONE},
	{"void run<step()::{lambda(int)#3}>(int)", "step", "step #3",
	 NSX_K_OTHER, NSX_D_NONE},
	{"void run<Solver::advance(double) const::{lambda(int)#1}>(Args<4ul>)", "advance",
	 "advance #1", NSX_K_OTHER, NSX_D_NONE},
	{"void run<Scale::operator()(int) const::{lambda(int)#2}>(int)", "Scale", "Scale #2",
	 NSX_K_OTHER, NSX_D_NONE},
	{"main::{lambda(int)#2}::operator()(int) const", "main", "main #2", NSX_K_OTHER,
	 NSX_D_NONE},
	{"void Kokkos::Impl::cuda_parallel_launch_local_memory<Kokkos::Impl::ParallelFor<"
	 "md::PairLJCut<Kokkos::Cuda>, Kokkos::RangePolicy<Kokkos::Cuda>>>(T1)", "PairLJCut",
	 "PairLJCut", NSX_K_OTHER, NSX_D_NONE},
	{"void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int>, "
	 "cutlass::half_t>>(T1::Params)", "GemmUniversal", "GemmUniversal", NSX_K_GEMM,
	 NSX_D_F16},
	{"_ZN5mylib4stepEPfi", "step", "step", NSX_K_OTHER, NSX_D_NONE},
	{"_ZN5mylib99stepEPfi", "mylib", "mylib", NSX_K_OTHER, NSX_D_NONE}, /* the name is cut */
	{"__omp_offloading_10303_5a2b_solve_l42", "solve", "solve line 42", NSX_K_OTHER,
	 NSX_D_NONE},
	{"__omp_offloading_10303_5a2b__ZN3cfd5solveEPd_l7", "solve", "solve line 7", NSX_K_OTHER,
	 NSX_D_NONE},
	{"nvkernel_main_loop_F1L12_2", "main_loop", "main_loop line 12", NSX_K_OTHER, NSX_D_NONE},
	{"nvkernel_of_mine", "nvkernel_of_mine", "nvkernel_of_mine", NSX_K_OTHER, NSX_D_NONE},
	{"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)",
	 "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
	 "ncclDevKernel_AllReduce_Sum_f32_RING_LL", NSX_K_COMM, NSX_D_NONE},
	{"saxpy(double *, double *, int)", "saxpy", "saxpy", NSX_K_OTHER,
	 NSX_D_NONE},
	{"void mine<Sorted<float>>(float *)", "mine", "mine", NSX_K_OTHER,
	 NSX_D_F32}, /* "Sort" is not the function's own */
	{"id:17", "id:17", "id:17", NSX_K_OTHER, NSX_D_NONE},
	{"", "kernel without a name", "kernel without a name", NSX_K_OTHER,
	 NSX_D_NONE},
};

TEST(words_of_known_kernels)
{
	struct nsx_arena *a = nsx_arena_new();

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		struct nsx_kernel_words k;

		nsx_kernel_words(known[i].full, a, &k);
		assert_string_equal(k.family, known[i].family);
		assert_string_equal(k.label, known[i].label);
		assert_string_equal(nsx_kernel_category_names[k.category],
				    nsx_kernel_category_names[known[i].category]);
		assert_int_equal(k.dtype, known[i].dtype);
	}
	nsx_arena_free(a);
}

/* Makes the labels of these kernels of one trace, in the same order. */
static void label(const char *const *full, size_t n, struct nsx_arena *a, const char **ret)
{
	nsx_str *name = nsx_arena_get(a, n * sizeof(*name));
	struct nsx_strings *strings = nsx_strings_new();
	struct nsx_trace t = {.strings = strings, .shape_name = name,
			      .nshapes = (uint32_t)n, .arena = a};
	struct nsx_kernel_names k;
	struct nsx_err err;

	for (size_t i = 0; i < n; i++)
		assert_int_equal(nsx_strings_add(strings, full[i], strlen(full[i]),
						 &name[i], &err), 0);
	assert_int_equal(nsx_rank_names(&t, 2, &err), 0);
	assert_int_equal(nsx_kernel_names_build(&t, 2, a, &k, &err), 0);
	for (size_t i = 0; i < n; i++)
		ret[i] = nsx_arena_strdup(a, nsx_kernel_label(&k, name[i]));
	nsx_kernel_names_done(&k);
	nsx_strings_free(strings);
}

TEST(parameters_are_not_read)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_kernel_words k;

	assert_int_equal(nsx_kernel_words_length("void f<(int)4>(other::t)"),
			 strlen("void f<(int)4>(o"));
	assert_int_equal(nsx_kernel_words_length("f(anony *)"), strlen("f(anony "));
	nsx_kernel_words("void dispatch<(int)4>(deep_ep::t)", a, &k);
	assert_int_equal(k.category, NSX_K_OTHER);
	nsx_arena_free(a);
}

TEST(what_differs_tells_apart)
{
	static const char *const full[][2] = {
		{ADD, "elementwise add<f32> [vectorized]"},
		{STRIDED("at::native::CUDAFunctor_add<float>"),
		 "elementwise add<f32> [strided]"},
		{"void f<(int)10, (bool)0>(int)", "f<10>"},
		{"void f<(int)9, (bool)0>(int)", "f<9>"},
		{"void g<(int)1, (int)2>(int)", "g<1, 2>"},
		{"void g<(int)1, (int)4>(int)", "g<4>"},
		{"void g<(int)2, (int)1>(int)", "g<2>"},
		{"vadd(float *)", "vadd<float>"},
		{"vadd(double *)", "vadd<double>"},
		{"h(int &)", "h (1 of 2)"},
		{"h(int *)", "h (2 of 2)"},
		{"ampere_sgemm_32x32_sliced1x4_tn",
		 "gemm f32 32×32 tn (sgemm) [sliced1x4]"},
		{"ampere_sgemm_32x32_tn", "gemm f32 32×32 tn (sgemm)"},
	};
	const char *names[ARRAY_LEN(full)], *got[ARRAY_LEN(full)];
	struct nsx_arena *a = nsx_arena_new();

	for (size_t i = 0; i < ARRAY_LEN(full); i++)
		names[i] = full[i][0];
	label(names, ARRAY_LEN(full), a, got);
	for (size_t i = 0; i < ARRAY_LEN(full); i++)
		assert_string_equal(got[i], full[i][1]);
	nsx_arena_free(a);
}

static int cmp_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names composed of few parts, so that names have most parts in common. */
TEST(no_two_labels_read_the_same)
{
	static const char *const pieces[] = {
		"void ", "f", "ns::", "<", ">", "(", ")", "int", "(int)4", ", ",
		"float", "[lambda(int) (instance 2)]", "sgemm_64x64_tn", "_",
		"elementwise_kernel", "::", "<unnamed>", "#1", " ", "×", "(1 of 2)",
		"[1]", "thrust::cuda_cub::", "_kernel_agent", "triton_poi_fused_",
		"0", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
	enum { N = 2000 };
	const char **full = calloc(N, sizeof(*full)), **got;
	struct nsx_arena *a = nsx_arena_new();
	uint64_t seed = 41;

	for (size_t i = 0; i < N; i++) {
		struct nsx_buf b = {0};

		for (uint64_t n = rnd(&seed) % 9; n; n--)
			nsx_buf_adds(&b, pieces[rnd(&seed) % ARRAY_LEN(pieces)]);
		nsx_buf_printf(&b, "%s", "");
		full[i] = nsx_arena_strdup(a, b.p);
		nsx_buf_done(&b);
	}
	qsort(full, N, sizeof(*full), cmp_text);
	got = calloc(N, sizeof(*got));
	label(full, N, a, got);
	for (size_t i = 1; i < N; i++) /* equal names have equal labels */
		if (!strcmp(full[i - 1], full[i]))
			got[i - 1] = "";
	qsort(got, N, sizeof(*got), cmp_text);
	for (size_t i = 1; i < N; i++)
		assert_true(!*got[i] || strcmp(got[i - 1], got[i]) != 0);
	free(got);
	free(full);
	nsx_arena_free(a);
}
