/* kernel_words.c - finds the family, type and details of a kernel in its name.
 *
 * Rules are tried in order, and the first that knows the function decides. They cover names from
 * real traces of PyTorch, cuBLAS, cuDNN, CUTLASS, TensorRT, Triton, FlashAttention, CUB and Thrust.
 * Other functions keep their own names.
 */
#include "facts/category.h"
#include "facts/kernel_lex.h"
#include "facts/kernel_name.h"
#include "trace/trace.h"

enum { MAX_CHARS = 60 };

const char *const nsx_dtype_names[NSX_NDTYPES] = {
	[NSX_D_NONE] = "", [NSX_D_F64] = "f64", [NSX_D_F32] = "f32",
	[NSX_D_TF32] = "tf32", [NSX_D_F16] = "f16", [NSX_D_BF16] = "bf16",
	[NSX_D_F8] = "f8", [NSX_D_F4] = "f4", [NSX_D_C64] = "c64",
	[NSX_D_C128] = "c128", [NSX_D_I64] = "i64", [NSX_D_I32] = "i32",
	[NSX_D_I16] = "i16", [NSX_D_I8] = "i8", [NSX_D_U64] = "u64",
	[NSX_D_U32] = "u32", [NSX_D_U16] = "u16", [NSX_D_U8] = "u8",
	[NSX_D_BOOL] = "bool",
};

struct text {
	const char *p;
	size_t n;
};
struct parts { /* parts of a full name */
	struct text before; /* return type and scopes                        */
	struct text base, args; /* args: inside <...>, may be empty          */
};
struct words {
	struct nsx_buf family, detail;
	enum nsx_dtype dtype;
};

/* Texts -------------------------------------------------------------------*/

static bool has_text(struct text t, const char *word)
{
	return memmem(t.p, t.n, word, strlen(word)) != NULL;
}

static bool is_exactly(struct text t, const char *word)
{
	return t.n == strlen(word) && !memcmp(t.p, word, t.n);
}

static bool kernel_words_begins(struct text t, const char *word)
{
	size_t n = strlen(word);

	return t.n >= n && !memcmp(t.p, word, n);
}

static bool drop_prefix(struct text *t, const char *word)
{
	if (!kernel_words_begins(*t, word))
		return false;
	t->p += strlen(word);
	t->n -= strlen(word);
	return true;
}

/* Drops the suffix, unless it is the whole name. */
static bool drop_suffix(struct text *t, const char *word)
{
	size_t n = strlen(word);

	if (t->n <= n || memcmp(t->p + t->n - n, word, n))
		return false;
	t->n -= n;
	return true;
}

static void kernel_words_add(struct nsx_buf *b, struct text t)
{
	nsx_buf_add(b, t.p, t.n);
}

static struct parts kernel_words_split(const char *full)
{
	struct parts ret = {.before.p = full};
	int depth = 1;

	ret.base.p = nsx_base_of(full, &ret.base.n);
	ret.before.n = (size_t)(ret.base.p - full);
	ret.args.p = ret.base.p + ret.base.n;
	if (*ret.args.p != '<')
		return ret;
	for (const char *p = ++ret.args.p; *p && depth; p++) {
		depth += (*p == '<') - (*p == '>');
		ret.args.n += depth > 0;
	}
	return ret;
}

size_t nsx_kernel_words_length(const char *full)
{
	struct parts name = kernel_words_split(full);
	const char *args_end = name.args.p + name.args.n, *own;
	const char *end = nsx_parameters_of(full, &own);

	for (const char *p = "(anonymous"; *end && *end == *p; p++)
		end++; /* nsx_parameters_of reads this far */
	return (size_t)(NSX_MAX(args_end, end) - full) + 1;
}

static bool kernel_words_next_word(struct text *t, struct nsx_word *ret)
{
	const char *end = t->p + t->n;
	bool any = nsx_next_word(&t->p, end, ret);

	t->n = (size_t)(end - t->p);
	return any;
}

/* The next word of a kind; empty if there is none. */
static struct text next_of(struct text *t, enum nsx_word_kind kind)
{
	struct nsx_word w;

	while (kernel_words_next_word(t, &w))
		if (w.kind == kind)
			return (struct text){w.p, w.n};
	return (struct text){0};
}

/* Types -------------------------------------------------------------------*/

static enum nsx_dtype type_of(struct text word)
{
	static const struct {
		const char *word;
		enum nsx_dtype type;
	} types[] = {
		{"float", NSX_D_F32}, {"double", NSX_D_F64},
		{"half", NSX_D_F16}, {"__half", NSX_D_F16},
		{"Half", NSX_D_F16}, {"half_t", NSX_D_F16},
		{"BFloat16", NSX_D_BF16}, {"bfloat16_t", NSX_D_BF16},
		{"__nv_bfloat16", NSX_D_BF16}, {"__bfloat", NSX_D_BF16},
		{"tfloat32_t", NSX_D_TF32}, {"float_e4m3_t", NSX_D_F8},
		{"float_e5m2_t", NSX_D_F8}, {"__nv_fp8_e4m3", NSX_D_F8},
		{"__nv_fp8_e5m2", NSX_D_F8}, {"Float8_e4m3fn", NSX_D_F8},
		{"Float8_e5m2", NSX_D_F8}, {"float2", NSX_D_C64},
		{"cuComplex", NSX_D_C64}, {"double2", NSX_D_C128},
		{"cuDoubleComplex", NSX_D_C128}, {"Float64", NSX_D_F64},
		{"Float32", NSX_D_F32}, {"Float16", NSX_D_F16},
		{"long", NSX_D_I64}, {"int64_t", NSX_D_I64},
		{"int", NSX_D_I32}, {"int32_t", NSX_D_I32},
		{"short", NSX_D_I16}, {"int8_t", NSX_D_I8},
		{"uint8_t", NSX_D_U8}, {"bool", NSX_D_BOOL},
	};

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (is_exactly(word, types[i].word))
			return types[i].type;
	return NSX_D_NONE;
}

static enum nsx_dtype first_float_type(struct text args)
{
	struct nsx_word w;

	while (kernel_words_next_word(&args, &w)) {
		enum nsx_dtype type = type_of((struct text){w.p, w.n});

		if (type >= NSX_D_F64 && type <= NSX_D_C128)
			return type;
	}
	return NSX_D_NONE;
}

/* The type with whose name t begins; the name may have two words ("unsigned int"). */
static enum nsx_dtype type_at(struct text t)
{
	struct nsx_word w;
	enum nsx_dtype type;
	bool is_unsigned;

	if (!kernel_words_next_word(&t, &w))
		return NSX_D_NONE;
	is_unsigned = is_exactly((struct text){w.p, w.n}, "unsigned");
	if (is_unsigned || is_exactly((struct text){w.p, w.n}, "signed"))
		if (!kernel_words_next_word(&t, &w))
			return NSX_D_NONE;
	if (t.n &&
	    (*t.p == '*' || kernel_words_begins(t, " *") || kernel_words_begins(t, " const *")))
		return NSX_D_NONE;
	if (is_exactly((struct text){w.p, w.n}, "char"))
		return is_unsigned ? NSX_D_U8 : NSX_D_I8;
	type = type_of((struct text){w.p, w.n});
	return is_unsigned && type >= NSX_D_I64 && type <= NSX_D_I8 ?
		       (enum nsx_dtype)(type + NSX_D_U64 - NSX_D_I64) : type;
}

/* The parameter type of the first lambda that has a parameter. The operation's lambda comes first;
 * those of its wrappers, whose parameter is an index, follow.
 */
static enum nsx_dtype lambda_type(struct text t)
{
	const char *p;

	while ((p = memmem(t.p, t.n, "lambda(", 7))) {
		t.n -= (size_t)(p + 7 - t.p);
		t.p = p + 7;
		if (!kernel_words_begins(t, ")"))
			return type_at(t);
	}
	return NSX_D_NONE;
}

/* Communication, Triton --------------------------------------------------------*/

static bool recognise_comm(const struct parts *name, struct words *w)
{
	struct nsx_buf base = {0};
	enum nsx_comm_op op;

	kernel_words_add(&base, name->base);
	op = nsx_classify_comm(base.p, name->before.p);
	nsx_buf_done(&base);
	if (op == NSX_COMM_NONE)
		return false;
	kernel_words_add(&w->family, name->base);
	return true;
}

/* Reads "triton_poi_fused_mul_sum_0". Its number distinguishes kernels with the same operations. */
static bool recognise_triton(const struct parts *name, struct words *w)
{
	static const char *const starts[] = {
		"triton_poi_fused_", "triton_red_fused_", "triton_per_fused_",
		"triton_tem_fused_", "triton_for_fused_", "triton_unk_fused_"};
	struct text rest = name->base, ops;
	bool any = NSX_ANY(i, ARRAY_LEN(starts), drop_prefix(&rest, starts[i]));

	ops = rest;
	while (ops.n && nsx_is_digit(ops.p[ops.n - 1]))
		ops.n--;
	if (!any || ops.n < 2 || ops.p[ops.n - 1] != '_')
		return false;
	ops.n--;
	nsx_buf_adds(&w->family, "triton ");
	kernel_words_add(&w->family, ops);
	nsx_buf_add(&w->detail, ops.p + ops.n, rest.n - ops.n);
	return true;
}

/* Thrust and CUB ---------------------------------------------------------------*/

/* Reads "__merge_sort::BlockSortAgent": the algorithm, and which part of it the agent does. */
static bool recognise_thrust(const struct parts *name, struct words *w)
{
	static const char *const agents[][2] = {
		{"BlockSort", " block"}, {"Merge", " merge"},
		{"Partition", " partition"}, {"Init", " init"}};
	struct text args = name->args, what = {0}, part;
	struct nsx_word word;

	if (!has_text(name->before, "cuda_cub::") || !is_exactly(name->base, "_kernel_agent"))
		return false;
	while (!what.n && kernel_words_next_word(&args, &word)) {
		struct text t = {word.p, word.n};

		if (word.kind == NSX_W_SCOPE ?
			    drop_prefix(&t, "__") && !is_exactly(t, "parallel_for") :
			    word.kind == NSX_W_NAME && !is_exactly(t, "ParallelForAgent"))
			what = t;
	}
	if (!what.n)
		return false;
	drop_prefix(&what, "uninitialized_");
	if (drop_suffix(&what, "_sort"))
		nsx_buf_adds(&w->family, "sort");
	else
		kernel_words_add(&w->family, what);
	if (!kernel_words_next_word(&args, &word))
		return true;
	part = (struct text){word.p, word.n};
	for (size_t i = 0; i < ARRAY_LEN(agents); i++)
		if (kernel_words_begins(part, agents[i][0]))
			nsx_buf_adds(&w->detail, agents[i][1]);
	return true;
}

static bool recognise_cub(const struct parts *name, struct words *w)
{
	static const char *const starts[][2] = {
		{"DeviceRadixSort", "sort radix"},
		{"DeviceMergeSort", "sort merge"},
		{"DeviceSegmentedRadixSort", "sort segmented"},
		{"DeviceSegmentedSort", "sort segmented"},
		{"DeviceSegmentedReduce", "reduce segmented"},
		{"DeviceReduceByKey", "reduce by key"},
		{"DeviceReduce", "reduce"}, {"DeviceScan", "scan"},
		{"DeviceSelect", "select"}, {"DeviceHistogram", "histogram"},
	};
	struct text part = name->base;

	if (!has_text(name->before, "cub::"))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (drop_prefix(&part, starts[i][0])) {
			nsx_buf_adds(&w->family, starts[i][1]);
			drop_suffix(&part, "Kernel");
			if (part.n && !is_exactly(part, "Kernel")) {
				nsx_buf_adds(&w->detail, " ");
				kernel_words_add(&w->detail, part);
			}
			w->dtype = first_float_type(name->args);
			return true;
		}
	return false;
}

/* PyTorch's elementwise kernels and reductions ------------------------------------*/

/* The operation that a wrapper's argument names; empty: none. */
static struct text operation(struct text t)
{
	static const char *const wrappers[] = {
		"gpu_", "Binary", "Unary", "AUnary", "BUnary", "Pointwise",
		"Ternary", "ReduceOp", "func_wrapper", "TensorList", "Opaque",
		"distribution_"};
	static const char *const ends[] = {
		"_kernel_cuda", "_kernel_impl", "_kernel_cuda_impl",
		"_cuda_out", "_internal_kernel", "CUDAKernelImpl",
		"KernelImpl", "_and_transform", "_functor", "Functor",
		"_kernel", "Ops"};
	static const char *const plain[] = {"multiplies", "divides", "plus", "minus", "Copy"};
	static const struct text nothing = {0};

	if (NSX_ANY(i, ARRAY_LEN(wrappers), kernel_words_begins(t, wrappers[i])))
		return nothing;
	if (NSX_ANY(i, ARRAY_LEN(plain), is_exactly(t, plain[i])))
		return t;
	if (is_exactly(t, "copy_device_to_device"))
		return (struct text){"copy", 4};
	if (drop_prefix(&t, "CUDAFunctorOnSelf_") || drop_prefix(&t, "CUDAFunctor_"))
		return t;
	if (!NSX_ANY(i, ARRAY_LEN(ends), drop_suffix(&t, ends[i])))
		return nothing;
	drop_prefix(&t, "_cuda_");
	drop_prefix(&t, "direct_");
	return t;
}

/* The type on which an operation works: the first floating-point type among the arguments,
 * otherwise the functor's type, otherwise that of its lambda's parameter.
 */
static enum nsx_dtype operand_type(struct text args, struct text after_op)
{
	enum nsx_dtype type = first_float_type(args);

	if (type == NSX_D_NONE && kernel_words_begins(after_op, "<"))
		type = type_at(after_op);
	if (type == NSX_D_NONE)
		type = lambda_type(args);
	return type;
}

static void add_operation(struct words *w, struct text op, struct text args)
{
	const char *type = nsx_dtype_names[w->dtype];

	if (is_exactly(op, "bfloat16_copy")) {
		w->dtype = NSX_D_BF16;
		nsx_buf_adds(&w->family, "copy f32→bf16");
	} else if (is_exactly(op, "float16_copy")) {
		w->dtype = NSX_D_F16;
		nsx_buf_adds(&w->family, "copy f32→f16");
	} else if (is_exactly(op, "copy") && *type && has_text(args, "LoadWithCast<")) {
		nsx_buf_printf(&w->family, "cast to %s", type);
	} else {
		kernel_words_add(&w->family, op);
		for (char *p = w->family.p + w->family.n - op.n; *p; p++)
			if (*p >= 'A' && *p <= 'Z')
				*p = (char)(*p | 0x20);
		if (*type)
			nsx_buf_printf(&w->family, "<%s>", type);
	}
}

static bool recognise_torch(const struct parts *name, struct words *w)
{
	struct text args = name->args, op = {0};
	struct nsx_word word;

	if (has_text(name->base, "elementwise"))
		nsx_buf_adds(&w->family, "elementwise ");
	else if (is_exactly(name->base, "reduce_kernel"))
		nsx_buf_adds(&w->family, "reduce ");
	else if (is_exactly(name->base, "multi_tensor_apply_kernel"))
		nsx_buf_adds(&w->family, "multi_tensor ");
	else
		return false;
	while (!op.n && kernel_words_next_word(&args, &word))
		if (word.kind == NSX_W_NAME)
			op = operation((struct text){word.p, word.n});
	w->dtype = operand_type(name->args, args);
	if (op.n)
		add_operation(w, op, name->args);
	return op.n > 0;
}

/* Attention and matrices ---------------------------------------------------------*/

static bool recognise_flash(const struct parts *name, struct words *w)
{
	struct text args = name->args, base = name->base, number;

	if (!kernel_words_begins(base, "flash_") || !args.n)
		return false;
	drop_suffix(&base, "_kernel");
	kernel_words_add(&w->family, base);
	number = next_of(&args, NSX_W_NUMBER);
	if (number.n)
		nsx_buf_printf(&w->family, " d%.*s", (int)number.n, number.p);
	w->dtype = first_float_type(name->args);
	if (w->dtype)
		nsx_buf_printf(&w->family, " %s", nsx_dtype_names[w->dtype]);
	return true;
}

/* Reads a kernel of FlashAttention-3:
 * device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<...>>> is flash_fwd. The arguments of
 * its main loop are the stages, the cluster as a tuple, and the tile as a tuple that ends with the
 * head dimension.
 */
static bool recognise_flash_class(const struct parts *name, struct words *w)
{
	enum { AT_HEAD = 7 };
	static const char start[] = "FlashAttn";
	const char *p = is_exactly(name->base, "device_kernel") ?
		memmem(name->args.p, name->args.n, start, strlen(start)) : NULL;
	struct text args, number = {0};
	struct nsx_word word;
	bool is_main;

	if (!p)
		return false;
	args = (struct text){p, (size_t)(name->args.p + name->args.n - p)};
	if (!kernel_words_next_word(&args, &word))
		return false;
	p = word.p + strlen(start);
	word.n -= (uint32_t)strlen(start);
	is_main = word.n > 4 && !memcmp(p + 3, "Sm", 2);
	nsx_buf_adds(&w->family, "flash");
	for (size_t i = 0; i < (is_main ? 3 : word.n); i++) {
		bool is_upper = p[i] >= 'A' && p[i] <= 'Z';

		nsx_buf_printf(&w->family, "%s%c", is_upper ? "_" : "",
			       is_upper ? p[i] | 0x20 : p[i]);
	}
	w->dtype = first_float_type(args);
	for (int i = 0; is_main && i < AT_HEAD; i++)
		number = next_of(&args, NSX_W_NUMBER);
	if (number.n && !memcmp(p, "Fwd", 3))
		nsx_buf_printf(&w->family, " d%.*s", (int)number.n, number.p);
	if (w->dtype)
		nsx_buf_printf(&w->family, " %s", nsx_dtype_names[w->dtype]);
	return true;
}

/* Finds the type that is multiplied in the function's name. The first match decides, because the
 * input type stands before the accumulator type ("s16816gemm_bf16"). A plain s1688 multiplies
 * tf32.
 */
static enum nsx_dtype matrix_type(struct text name)
{
	static const struct {
		const char *part;
		enum nsx_dtype type;
	} parts[] = {
		{"tf32", NSX_D_TF32}, {"bf16", NSX_D_BF16},
		{"bfloat16", NSX_D_BF16}, {"e4m3", NSX_D_F8},
		{"e5m2", NSX_D_F8}, {"fp8", NSX_D_F8}, {"fp16", NSX_D_F16},
		{"f16", NSX_D_F16}, {"h16816", NSX_D_F16},
		{"h1688", NSX_D_F16}, {"h884", NSX_D_F16},
		{"hgemm", NSX_D_F16}, {"nvjet_q", NSX_D_F8},
		{"nvjet_o", NSX_D_F4}, {"nvjet_t", NSX_D_BF16},
		{"nvjet_h", NSX_D_F16}, {"s884", NSX_D_F16},
		{"s1688", NSX_D_TF32}, {"i8816", NSX_D_I8},
		{"i16832", NSX_D_I8}, {"igemm", NSX_D_I8}, {"imma", NSX_D_I8},
		{"dgemm", NSX_D_F64}, {"d884", NSX_D_F64},
		{"f64f64", NSX_D_F64}, {"zgemm", NSX_D_C128},
		{"cgemm", NSX_D_C64}, {"sgemm", NSX_D_F32},
		{"f32f32", NSX_D_F32}, {"ffma", NSX_D_F32},
		{"scudnn", NSX_D_F32}, {"hcudnn", NSX_D_F16},
	};

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (has_text(name, parts[i].part))
			return parts[i].type;
	return NSX_D_NONE;
}

/* Finds a tile such as "128x64" in a name. */
static bool find_tile(struct text t, int ret[2])
{
	for (size_t i = 1; i < t.n; i++) {
		const char *p = t.p + i, *end = t.p + t.n;
		char *rest;

		if (!nsx_is_digit(*p) || (p[-1] != '_' && p[-1] != 'e'))
			continue;
		ret[0] = (int)(strtoul(p, &rest, 10) % 100000);
		if (rest + 1 >= end || *rest != 'x' || !nsx_is_digit(rest[1]))
			continue;
		ret[1] = (int)(strtoul(rest + 1, NULL, 10) % 100000);
		return true;
	}
	return false;
}

/* The part between underscores that contains `what`; empty: none. */
static struct text part_containing(struct text t, const char *what)
{
	struct text part = {t.p, 0};

	for (size_t i = 0; i <= t.n; i++) {
		if (i < t.n && t.p[i] != '_')
			continue;
		part.n = (size_t)(t.p + i - part.p);
		if (has_text(part, what))
			return part;
		part.p = t.p + i + 1;
	}
	return (struct text){0};
}

static void add_matrix_detail(struct words *w, struct text t)
{
	static const char *const layouts[] = {"nn", "nt", "tn", "tt"};
	struct text part = t;
	int tile[2];

	if (find_tile(t, tile)) {
		nsx_buf_printf(&w->detail, " %d×%d", tile[0], tile[1]);
		part = part_containing(t, has_text(t, "cudnn") ? "cudnn" : "gemm");
	}
	for (size_t i = 0; i < ARRAY_LEN(layouts); i++)
		if (is_exactly(part_containing(t, layouts[i]), layouts[i]))
			nsx_buf_printf(&w->detail, " %s", layouts[i]);
	if (kernel_words_begins(t, "nvjet"))
		part = (struct text){"nvjet", 5};
	else if (has_text(t, "xmma"))
		part = (struct text){"xmma", 4};
	else if (kernel_words_begins(t, "cutlass"))
		part = has_text(t, "simt") ? (struct text){"cutlass simt", 12} :
					(struct text){"cutlass", 7};
	nsx_buf_printf(&w->detail, " (%.*s)", (int)(part.n ? part.n : t.n), part.n ? part.p : t.p);
}

/* The part of a name that identifies the kernel: the base name; for a wrapper called "Kernel" its
 * first argument; for Kokkos' launchers the body of their loop.
 */
static struct text identifying_part(const struct parts *name)
{
	static const char *const wrappers[] = {"Kernel", "Kernel2", "kernel", "device_kernel"};
	bool launches = kernel_words_begins(name->base, "cuda_parallel_launch") ||
			NSX_ANY(i, ARRAY_LEN(wrappers), is_exactly(name->base, wrappers[i]));
	struct text args = name->args, first = {0};

	do
		first = launches ? next_of(&args, NSX_W_NAME) : first;
	while (is_exactly(first, "ParallelFor") || is_exactly(first, "ParallelReduce") ||
	       is_exactly(first, "ParallelScan"));
	return first.n ? first : name->base;
}

static bool recognise_matrix(const struct parts *name, struct words *w)
{
	static const char *const convs[] = {"fprop", "dgrad", "wgrad",
					    "convolve", "cudnn", "conv2d"};
	struct text t = identifying_part(name);
	const char *what = "gemm";
	int tile[2];

	if (nsx_category_of(t.p, t.n, NULL) != NSX_K_GEMM || has_text(t, "fft") ||
	    has_text(t, "winogradForward"))
		return false;
	w->dtype = matrix_type(t);
	if ((!w->dtype && (kernel_words_begins(t, "gemm") || kernel_words_begins(t, "gemv"))) ||
	    has_text(t, "_convolve_sgemm")) /* kernels with this word may also have half inputs */
		w->dtype = first_float_type(name->args) ?: w->dtype;
	if (!w->dtype && !find_tile(t, tile))
		return false;
	if (NSX_ANY(i, ARRAY_LEN(convs), has_text(t, convs[i])))
		what = "conv";
	nsx_buf_adds(&w->family, kernel_words_begins(t, "gemv") ? "gemv" : what);
	if (has_text(t, "wgrad") || has_text(t, "dgrad"))
		nsx_buf_adds(&w->family, has_text(t, "wgrad") ? " wgrad" : " dgrad");
	if (w->dtype)
		nsx_buf_printf(&w->family, " %s", nsx_dtype_names[w->dtype]);
	add_matrix_detail(w, t);
	return true;
}

/* Kernels from lambdas, and all others -------------------------------------------- */

/* Names a kernel made from a lambda after the function that holds the lambda: "f(int,
 * int)::[lambda(int) (instance 12)]" is "f #12".
 */
static bool recognise_lambda(const struct parts *name, struct words *w)
{
	struct text in = is_exactly(name->base, "operator()") ? name->before : name->args;
	struct text owner, rest, called = {0};
	const char *open = memmem(in.p, in.n, "::[lambda", 9);
	struct nsx_word word;
	int depth = 0;

	if (!open)
		open = memmem(in.p, in.n, "::{lambda", 9);
	if (!open || has_text(name->before, "at::native") || has_text(name->before, "cuda_cub"))
		return false;
	rest = (struct text){open, (size_t)(in.p + in.n - open)};
	owner = (struct text){in.p, (size_t)(open - in.p)};
	drop_suffix(&owner, " const");
	open = owner.p + owner.n;
	while (open > in.p && (depth || open[-1] == ')')) {
		open--; /* back over the parameters */
		depth += (*open == ')') - (*open == '(');
	}
	owner = (struct text){in.p, (size_t)(open - in.p)};
	do {
		if (!kernel_words_next_word(&owner, &word))
			return false;
		if (!called.n || !is_exactly((struct text){word.p, word.n}, "operator"))
			called = (struct text){word.p, word.n}; /* or else whose operator() it is */
	} while (owner.n);
	owner = called;
	drop_suffix(&owner, "_kernel");
	kernel_words_add(&w->family, owner);
	rest = next_of(&rest, NSX_W_INSTANCE);
	if (rest.n)
		nsx_buf_printf(&w->detail, " #%.*s", (int)rest.n, rest.p);
	return true;
}

/* The last identifier of a mangled name ("_ZN5mylib4stepEPf") before its template arguments; empty:
 * the name is not mangled.
 */
static struct text mangled_base_name(struct text t)
{
	struct text ret = {0};

	if (!drop_prefix(&t, "_Z"))
		return ret;
	if (drop_prefix(&t, "N"))
		drop_prefix(&t, "K");
	while (t.n && nsx_is_digit(*t.p)) {
		size_t n = 0;

		for (; t.n && n < 1 << 20 && nsx_is_digit(*t.p); t.p++, t.n--)
			n = 10 * n + (size_t)(*t.p - '0');
		if (n > t.n)
			break;
		ret = (struct text){t.p, n};
		t.p += n;
		t.n -= n;
	}
	return ret;
}

/* Names an OpenMP region after its function and line. LLVM writes
 * "__omp_offloading_10303_5a2b_solve_l42", whose numbers are those of the source file on the
 * machine; NVHPC writes "nvkernel_solve_F1L42_2".
 */
static bool recognise_region(const struct parts *name, struct words *w)
{
	struct text t = name->base, mangled;
	size_t at = t.n;

	if (drop_prefix(&t, "__omp_offloading_"))
		for (int i = 0; i < 2; i++) {
			const char *end = memchr(t.p, '_', t.n);
			size_t n = end ? (size_t)(end + 1 - t.p) : 0;

			t.p += n;
			t.n -= n;
		}
	else if (!drop_prefix(&t, "nvkernel_"))
		return false;
	for (at = t.n; at && t.p[at - 1] != 'l' && t.p[at - 1] != 'L'; at--)
		;
	if (!at || at == t.n || !nsx_is_digit(t.p[at]))
		return false;
	nsx_buf_printf(&w->detail, " line %ld", strtol(t.p + at, NULL, 10));
	for (t.n = at - 1; t.n && t.p[t.n] != '_'; t.n--)
		;
	mangled = mangled_base_name(t);
	kernel_words_add(&w->family, mangled.n ? mangled : t);
	return t.n > 0;
}

/* Names any other kernel. "kernel" alone tells nothing, so it keeps a scope ("gemvx::kernel"). A
 * wrapper gets the name of the class that it runs.
 */
static bool recognise_plain(const struct parts *name, struct words *w)
{
	struct text scope = name->before, mangled = mangled_base_name(name->base);
	struct text subject = identifying_part(name);
	struct nsx_word word = {0};

	if (mangled.n || type_of(subject) != NSX_D_NONE || subject.p == name->base.p ||
	    is_exactly(name->base, "kernel")) {
		subject = mangled.n ? mangled : name->base;
	} else {
		kernel_words_add(&w->family, subject);
		w->dtype = first_float_type(name->args);
		return true;
	}
	if (is_exactly(name->base, "kernel") || is_exactly(name->base, "Kernel")) {
		while (scope.n && kernel_words_next_word(&scope, &word))
			;
		if (word.n && word.kind == NSX_W_SCOPE)
			nsx_buf_printf(&w->family, "%.*s::", (int)word.n, word.p);
	}
	kernel_words_add(&w->family, subject);
	if (!name->base.n)
		nsx_buf_adds(&w->family, "kernel without a name");
	w->dtype = first_float_type(name->args);
	return true;
}

/* Copies a text to the arena. It is cut to MAX_CHARS characters, with "…" at the cut. */
static const char *kernel_words_keep(struct nsx_arena *a, const char *text)
{
	const char *rest = nsx_skip_chars(text, MAX_CHARS);

	return !*rest ? nsx_arena_strdup(a, text) :
			nsx_arena_printf(a, "%.*s…", (int)(rest - text), text);
}

void nsx_kernel_words(const char *full, struct nsx_arena *a, struct nsx_kernel_words *ret)
{
	static bool (*const rules[])(const struct parts *, struct words *) = {
		recognise_comm, recognise_triton, recognise_thrust, recognise_cub, recognise_torch,
		recognise_flash, recognise_flash_class, recognise_matrix, recognise_lambda,
		recognise_region, recognise_plain};
	struct parts name = kernel_words_split(full);
	struct words w = {0};

	*ret = (struct nsx_kernel_words){0};
	if (!strncmp(full, "id:", 3)) { /* the file does not have the kernel's name */
		ret->family = ret->label = nsx_arena_strdup(a, full);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		nsx_buf_clear(&w.family);
		nsx_buf_clear(&w.detail);
		w.dtype = NSX_D_NONE;
		if (rules[i](&name, &w)) {
			ret->category = rules[i] == recognise_comm ? NSX_K_COMM : NSX_K_OTHER;
			break;
		}
	}
	ret->dtype = w.dtype;
	ret->family = kernel_words_keep(a, w.family.p ? w.family.p : "");
	ret->label = ret->family;
	if (w.detail.n) {
		nsx_buf_add(&w.family, w.detail.p, w.detail.n);
		ret->label = kernel_words_keep(a, w.family.p);
	}
	if (ret->category != NSX_K_COMM) {
		ret->category = nsx_category_of(ret->family, strlen(ret->family), &ret->pattern);
		if (ret->category == NSX_K_OTHER)
			ret->category = nsx_category_of(full, name.before.n + name.base.n,
				&ret->pattern);
	}
	nsx_buf_done(&w.family);
	nsx_buf_done(&w.detail);
}
