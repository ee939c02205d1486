/* gen_names.c - the kernels and NVTX names of the generated workload.
 *
 * About 80 kernel types whose names have the shape and the length of those
 * of PyTorch, cuBLAS and NCCL, and the ranges that emit_nvtx() would push.
 */
#include "gen_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- NVTX names -------------------------------------------------------- */

#define EVALUATE "autograd::engine::evaluate_function: "

static const struct nvtx_name names[NM_COUNT] = {
    [NM_STEP] = {"train_step", N_STEP, 0, 0},
    [NM_FORWARD] = {"forward", N_FIXED, 0, 0},
    [NM_BACKWARD] = {"backward", N_FIXED, 0, 0},
    [NM_OPTIMIZER] = {"Optimizer.step#AdamW.step", N_OP, 0, 0},
    [NM_UNIQUE] = {"request_", N_UNIQUE, 0, 0},
    [NM_PREFETCH] = {"prefetch_batch", N_FIXED, 0, 0},
    [NM_NCCL_REDUCE] = {"ncclAllReduce", N_FIXED, NCCL_DOMAIN, 0},
    [NM_NCCL_GATHER] = {"ncclAllGather", N_FIXED, NCCL_DOMAIN, 0},
    [NM_OP_REDUCE] = {"nccl:all_reduce", N_OP, 0, 0},
    [NM_OP_GATHER] = {"nccl:_all_gather_base", N_OP, 0, 0},
    [NM_LAYER_NORM] = {"aten::layer_norm", N_SEQ, 0, 0},
    [NM_NATIVE_NORM] = {"aten::native_layer_norm", N_SEQ, 0, 0},
    [NM_LINEAR] = {"aten::linear", N_SEQ, 0, 0},
    [NM_ADDMM] = {"aten::addmm", N_SEQ, 0, 0},
    [NM_ATTENTION] = {"flash_attn::_flash_attn_forward", N_OP, 0, 0},
    [NM_GELU] = {"aten::gelu", N_SEQ, 0, 0},
    [NM_ADD] = {"aten::add", N_SEQ, 0, 0},
    [NM_MUL] = {"aten::mul", N_SEQ, 0, 0},
    [NM_TO] = {"aten::to", N_SEQ, 0, 0},
    [NM_COPY] = {"aten::copy_", N_OP, 0, 0},
    [NM_ZERO] = {"aten::zero_", N_OP, 0, 0},
    [NM_DROPOUT] = {"aten::dropout", N_SEQ, 0, 0},
    [NM_CAT] = {"aten::cat", N_SEQ, 0, 0},
    [NM_BW_ADDMM] = {EVALUATE "AddmmBackward0", N_SEQ, 0, 0},
    [NM_BW_NORM] = {EVALUATE "NativeLayerNormBackward0", N_SEQ, 0, 0},
    [NM_BW_ATTENTION] = {EVALUATE "FlashAttnFuncBackward", N_SEQ, 0, 0},
    [NM_BW_GELU] = {EVALUATE "GeluBackward0", N_SEQ, 0, 0},
    [NM_BW_ADD] = {EVALUATE "AddBackward0", N_SEQ, 0, 0},
    [NM_ACCUMULATE] = {EVALUATE "torch::autograd::AccumulateGrad", N_OP, 0, 0},
    [NM_MM] = {"aten::mm", N_OP, 0, 0},
    [NM_SUM] = {"aten::sum", N_OP, 0, 0},
    [NM_FUSED_ADAMW] = {"aten::_fused_adamw_", N_OP, 0, 0},
    [NM_ITEM] = {"aten::item", N_OP, 0, 0},
};

void add_names(struct builder *b, enum worst worst)
{
	struct model *m = b->m;

	m->names = grow(NULL, NM_COUNT, sizeof(*m->names));
	memcpy(m->names, names, sizeof(names));
	for (int i = 0; i < NM_COUNT; i++) {
		struct nvtx_name *n = &m->names[i];

		if (worst == W_ONE_NAME) {
			n->kind = N_FIXED;
			n->text = "work";
			if (i) {
				n->text_id = m->names[0].text_id;
				continue;
			}
		}
		if (n->kind == N_FIXED)
			n->text_id = out_string(b->o, n->text);
	}
}

/* ---- kernels ----------------------------------------------------------- */

static const struct {
	enum kernel_class class;
	const char *short_name, *name;
	int lo_ns, hi_ns;
} special[] = {
    {K_RED, "reduce_kernel",
     "void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<"
     "float, at::native::MeanOps<float, float, float, float>, unsigned int, "
     "float, (int)4, (int)4>>(T3)",
     4000, 9000},
    {K_RED, "reduce_kernel",
     "void at::native::reduce_kernel<(int)128, (int)4, at::native::ReduceOp<"
     "c10::BFloat16, at::native::func_wrapper_t<c10::BFloat16, at::native::"
     "sum_functor<c10::BFloat16, float>>, unsigned int>>(T3)",
     4000, 9000},
    {K_NORM, "vectorized_layer_norm_kernel",
     "void at::native::<unnamed>::vectorized_layer_norm_kernel<float, float, "
     "(bool)0>(int, T2, const T1 *, const T1 *, const T1 *, T2 *, T2 *)",
     6000, 12000},
    {K_NORM, "layer_norm_grad_input_kernel",
     "void at::native::<unnamed>::layer_norm_grad_input_kernel<float, float, "
     "(bool)0>(const T1 *, const T1 *, const T2 *, const T2 *, T1 *)",
     6000, 12000},
    {K_ATTN, "flash_fwd_kernel",
     "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128, "
     "(int)128, (int)64, (int)4>, (bool)0, (bool)1>(Flash_fwd_params)",
     50000, 80000},
    {K_ATTN, "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel",
     "void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<"
     "Flash_bwd_kernel_traits<(int)128, (int)64>>(Flash_bwd_params)",
     50000, 80000},
    {K_OPT, "multi_tensor_apply_kernel",
     "void at::native::<unnamed>::multi_tensor_apply_kernel<"
     "TensorListMetadata<(int)4>, FusedAdamMathFunctor<float, (int)4>, "
     "float>(T1, T2, T3...)",
     18000, 35000},
    {K_OPT, "multi_tensor_apply_kernel",
     "void at::native::<unnamed>::multi_tensor_apply_kernel<"
     "TensorListMetadata<(int)1>, LpNormFunctor<float, (int)2>, float *>("
     "T1, T2, T3...)",
     18000, 35000},
    {K_COMM, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
     "ncclDevKernel_AllReduce_Sum_bf16_RING_LL("
     "ncclDevKernelArgsStorage<(unsigned long)4096>)",
     150000, 190000},
    {K_COMM, "ncclDevKernel_AllGather_RING_LL",
     "ncclDevKernel_AllGather_RING_LL("
     "ncclDevKernelArgsStorage<(unsigned long)4096>)",
     60000, 90000},
};

static char *text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *text(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		die("no memory for a name");
	va_end(ap);
	return s;
}

/* Adds a kernel type, which takes ownership of both names. Their ids are assigned later. */
static void add_kernel(struct builder *b, char *short_name, char *name,
		       int64_t lo_ns, int64_t hi_ns)
{
	struct model *m = b->m;
	struct rng *r = &b->rng;
	struct kernel_type *k;

	m->kernels = grow(m->kernels, (size_t)m->nkernels + 1, sizeof(*m->kernels));
	k = &m->kernels[m->nkernels++];
	*k = (struct kernel_type){.name = name, .short_name = short_name};
	k->ns = rng_in(r, lo_ns, hi_ns);
	k->regs = 16 + 8 * rng_in(r, 0, 20);
	k->grid = rng_in(r, 1, 4) << rng_in(r, 4, 12);
	k->block = INT64_C(32) << rng_in(r, 2, 4);
	k->static_smem = rng_in(r, 0, 3) * 1024;
	k->dynamic_smem = rng_in(r, 0, 2) * 16384;
}

static void add_elementwise(struct builder *b, const char *short_name, int64_t lo_ns, int64_t hi_ns)
{
	static const char *const functors[] = {
	    "CUDAFunctor_add<float>",
	    "CUDAFunctor_add<c10::BFloat16>",
	    "CUDAFunctorOnSelf_add<float>",
	    "FillFunctor<int>",
	    "BinaryFunctor<float, float, float, binary_internal::MulFunctor>",
	    "AUnaryFunctor<float, float, bool, CompareEqFunctor<float>>",
	    "bfloat16_copy_kernel_cuda(at::TensorIteratorBase &)::"
	    "[lambda(float) (instance 1)]",
	    "GeluCUDAKernelImpl(at::TensorIteratorBase &, GeluType)::[lambda()"
	    " (instance 2)]::operator ()() const::[lambda() (instance 1)]::"
	    "operator ()() const::[lambda(c10::BFloat16) (instance 1)]"};

	for (int width = 2; width <= 4; width *= 2)
		for (size_t i = 0; i < COUNT(functors); i++)
			add_kernel(b, text("%s", short_name),
				   text("void at::native::%s<(int)%d, "
					"at::native::%s, std::array<char *, "
					"(unsigned long)3>>(int, T2, T3)",
					short_name, width, functors[i]),
				   lo_ns, hi_ns);
}

static void add_gemms(struct builder *b)
{
	static const int rows[] = {64, 96, 128, 192, 256};
	static const int cols[] = {64, 128, 208};

	for (size_t i = 0; i < COUNT(rows); i++)
		for (size_t j = 0; j < COUNT(cols); j++) {
			char *s = text("nvjet_tst_%dx%d_64x4_2x1_v_bz_coopB_%s", rows[i], cols[j],
				       (i + j) % 2 ? "TNT" : "bias_TNN");

			add_kernel(b, s, text("%s", s), 22000, 70000);
		}
}

/* The id of a text. Equal texts get equal ids, as in an export. */
static int64_t intern(struct builder *b, const char *s)
{
	for (int i = 0; i < b->m->nkernels; i++) {
		const struct kernel_type *k = &b->m->kernels[i];

		if (k->name_id && !strcmp(k->name, s))
			return k->name_id;
		if (k->short_id && !strcmp(k->short_name, s))
			return k->short_id;
	}
	return out_string(b->o, s);
}

void add_kernels(struct builder *b, enum worst worst)
{
	struct model *m = b->m;

	for (int c = 0; c < K_CLASSES; c++) {
		b->first[c] = m->nkernels;
		if (c == K_TINY)
			add_elementwise(b, "vectorized_elementwise_kernel", 1200, 2200);
		else if (c == K_ELEM)
			add_elementwise(b, "elementwise_kernel", 2500, 12000);
		else if (c == K_BIG)
			add_elementwise(b, "unrolled_elementwise_kernel", 15000, 40000);
		else if (c == K_GEMM)
			add_gemms(b);
		for (size_t i = 0; i < COUNT(special); i++)
			if ((int)special[i].class == c)
				add_kernel(b, text("%s", special[i].short_name),
					   text("%s", special[i].name),
					   special[i].lo_ns, special[i].hi_ns);
	}
	b->first[K_CLASSES] = m->nkernels;
	m->first_nccl = b->first[K_COMM];
	for (int i = 0; i < m->nkernels; i++) {
		struct kernel_type *k = &m->kernels[i];
		const struct kernel_type *use = worst == W_ONE_NAME ? &m->kernels[0] : k;

		k->name_id = intern(b, use->name);
		k->short_id = intern(b, use->short_name);
	}
}
