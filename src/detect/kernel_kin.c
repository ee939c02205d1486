/* kernel_kin.c - groups of kernels with one remedy: matrix products in f32 on a GPU with tensor
 * cores, and elementwise work in kernels of its own.
 */
#include "detect/kernels.h"
#include "detect/words.h"
#include "facts/steps/limit.h"
#include "report/text.h"

#define FAMILY_SHARE 0.15
/* share from which kernels that compute nothing are reported; lower than for others */
#define MOVES_SHARE 0.08
#define FUSED 2.0
/* least ratio of the peaks with and without tensor cores, from compute capability 8.0 on */
#define LEAST_RATIO 2.0
enum { MOST_FUSED = 64 }; /* most kernels fused into one, as by TorchInductor */

/* Whether a kernel is a matrix product without tensor cores. A matrix times a vector is not one: it
 * is bound by memory in any type.
 */
static bool is_f32_matrix(const struct nsx_kernel_words *x)
{
	return x->category == NSX_K_GEMM && x->dtype == NSX_D_F32 && !strstr(x->label, "gemv");
}

bool kernels_by_index(const struct nsx_kernel_words *x)
{
	static const char *const by_index[] = {"gather", "scatter", "embedding",
					       "index_", "indexing_", "Index"};

	for (size_t i = 0; i < ARRAY_LEN(by_index); i++)
		if (!strcmp(x->pattern, by_index[i]))
			return true;
	return false;
}

/* Whether a kernel only moves, converts or fills data in order, and no compiler fused it. */
static bool is_own_move(const struct nsx_kernel_words *x)
{
	return !kernels_fused_by(x) && x->category == NSX_K_MEMORY && !kernels_by_index(x);
}

/* Whether a kernel is bound by memory and could be fused with the producer or consumer of its data.
 */
static bool is_fusible(const struct nsx_kernel_words *x)
{
	return is_own_move(x) || (!kernels_fused_by(x) && x->category == NSX_K_ELEMENTWISE);
}

typedef bool (*belongs_fn)(const struct nsx_kernel_words *);

struct kin { /* group of kernels of the limiting GPU with one remedy */
	belongs_fn belongs;
	const struct kernel *first; /* the kernel with most time             */
	size_t n;
	int64_t ns;
};

static struct kin find_kin(struct kernels *k, belongs_fn belongs)
{
	struct kin kin = {.belongs = belongs};

	for (size_t i = 0; i < k->names.n; i++) {
		const struct kernel *x = &k->names.v[i];

		if (!belongs(words_of(k, x->id)))
			continue;
		if (!kin.n++ || cmp_kernels(x, kin.first) < 0)
			kin.first = x;
		nsx_add_to(&kin.ns, x->ns);
	}
	return kin;
}

/* Plans to make the group's launches on all GPUs faster. Lists rows and not names, because there
 * may be as many names as launches.
 */
static int faster_kin(struct kernels *k, const struct kin *kin, double amount,
		      struct nsx_plan *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = k->d->trace;
	struct nsx_row_list rows = {0};
	bool *fits;

	if (!nsx_new_array(fits, k->d->scratch, t->nshapes, "kernels", err))
		return err->rc;
	for (uint32_t i = 0; i < t->nshapes; i++)
		fits[i] = kin->belongs(words_of(k, t->shape_name[i]));
	for (uint32_t dev = 0; dev < t->ndevices; dev++)
		NSX_EACH_JUDGED(k->d, dev, i)
			if (t->ops.kind[i] == NSX_OP_KERNEL && fits[nsx_op_detail(&t->ops, i)] &&
			    nsx_list_row(k->d, &rows, i, err))
				return err->rc;
	nsx_plan_rows(k->d, ret, &rows, (struct nsx_change){
		.verb = NSX_FASTER, .op = NSX_ON_KERNELS, .amount = amount});
	nsx_arena_drop(k->d->scratch, rows.v);
	return 0;
}

/* Advice on a narrower type. Tensor cores before compute capability 8.0 take neither TF32 nor BF16.
 */
static const char *narrower_type(const struct kernels *k, struct arch gpu)
{
	if (gpu.major < 8)
		return k->d->is_pytorch ? say_use_fp16_torch_autocast : say_use_fp16_cublas_compute;
	return k->d->is_pytorch ? say_allow_tf32_torch_set : say_allow_tf32_cublas_compute;
}

/* Adds the names of the group's kernels as evidence. */
static void tell_kin(struct kernels *k, const struct kin *kin, struct nsx_finding *f)
{
	struct nsx_findings *l = k->d->found;

	f->evidence[0] = nsx_tell(l, "%s, %s, %s%s", nsx_text_n(l->arena, kin->n, "kernel", NULL),
		nsx_tell_ns(l, kin->ns), kin->n == 1 ? "" : "the first ",
		nsx_tell_name(l, label_of(k, kin->first->id)));
	f->proof[0] = (struct nsx_evidence){
		.csv = "critical_path", .column = "total_ms",
		.at = {{"kind", nsx_string("kernel")},
		       {"name", nsx_string(nsx_text(k->d->trace,
						    kin->first->id))}}};
}

/* Sets *told if the kernel with most time is in the group. */
int kernels_propose_f32(struct kernels *k, bool *told, struct nsx_err *err)
{
	struct arch gpu = kernels_arch(k);
	double ratio = gpu.is_least && gpu.major ? LEAST_RATIO :
						   nsx_tensor_ratio(gpu.major, gpu.minor);
	double amount = NSX_MAX(1.5, ratio / 2);
	struct nsx_findings *l = k->d->found;
	struct nsx_finding f = {
		.id = NSX_ID_f32_matrix, .confidence = NSX_CONF_MEDIUM,
		.device = k->d->facts->limiting, .is_assumed = true};
	struct kin kin = find_kin(k, is_f32_matrix);
	double share = time_of(k, kin.ns) / k->length_ns;

	if (!(ratio > 0) || share < FAMILY_SHARE)
		return 0;
	if (faster_kin(k, &kin, amount, &f.remedy, err))
		return err->rc;
	f.weight = nsx_find_finding(l, NSX_ID_unified_memory) ? 0 : share; /* they may wait for pages */
	f.guess_ns = time_of(k, kin.ns) * (1 - 1 / amount);
	f.title = nsx_tell(l, say_matrix_products_f32_take, kernels_tell_share(k, kin.ns));
	tell_kin(k, &kin, &f);
	f.evidence[1] = nsx_tell(l, say_taken_as_times_as_fast, amount);
	f.evidence[2] = nsx_tell(l, say_those_have_times_peak_f32,
		gpu.is_least ? say_gpu_runs_kernels : "this GPU", (long long)gpu.major,
		(long long)gpu.minor, gpu.is_least ? " or newer" : "",
		gpu.is_least ? "at least " : "", ratio);
	if (kernels_tell_place(k, false, kin.first, &f, err))
		return err->rc;
	f.recommendation[0] = narrower_type(k, gpu);
	nsx_found(l, &f);
	*told = kin.first == &k->names.v[0];
	return 0;
}

struct chain { /* kernels that follow one another directly on a stream */
	double threads; /* of each kernel; 0: no chain                       */
	int64_t longest_ns, saved_ns;
	uint32_t n;
};

/* operations to prefetch, because launch configurations lie far apart in memory */
enum { AHEAD = 16 };

/* Finds the ratio of the kernels' time to the time that they would take if each chain were one
 * kernel as long as its longest. Kernels with equally many threads are assumed to work on one
 * tensor that each passes to the next. Unrelated tensors differ in size, except in very long runs.
 */
static int find_chains(struct kernels *k, belongs_fn belongs, double *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = k->d->trace;
	int64_t now_ns = 0, saved_ns = 0;
	struct chain *of_stream;

	if (!nsx_new_array(of_stream, k->d->scratch, t->nstreams, "streams", err))
		return err->rc;
	NSX_EACH_JUDGED(k->d, k->d->facts->limiting, i) {
		struct chain *c = &of_stream[nsx_op_stream(&t->ops, i)];
		struct chain x = {.longest_ns = nsx_op_ns(&t->ops, i), .n = 1};
		const struct nsx_shape *s;
		const struct nsx_launch *l;

		if (i + AHEAD < i_end && t->ops.kind[i + AHEAD] == NSX_OP_KERNEL)
			__builtin_prefetch(nsx_op_shape(t, i + AHEAD));
		if (is_looked_at(k, i) && belongs(words_of(k, nsx_op_name(t, i)))) {
			nsx_add_to(&now_ns, x.longest_ns);
			s = nsx_op_shape(t, i);
			l = nsx_shape_launch(t, s);
			x.threads = l->known ? (double)nsx_shape_blocks(t, s) *
					       (double)nsx_extent(l->block) : 0;
		}
		if (x.threads > 0 && x.threads == c->threads) {
			x.n = c->n + (c->n <= MOST_FUSED);
			x.saved_ns = c->saved_ns + NSX_MIN(x.longest_ns, c->longest_ns);
			x.longest_ns = NSX_MAX(x.longest_ns, c->longest_ns);
		}
		if (x.n > MOST_FUSED)
			x.saved_ns = 0;
		saved_ns += x.saved_ns - (x.n > 1 ? c->saved_ns : 0);
		*c = x;
	}
	*ret = now_ns ? (double)now_ns / (double)(now_ns - saved_ns) : 1;
	return 0;
}

/* Sets *told if the group is a single kernel and that has most time. */
int kernels_propose_elementwise(struct kernels *k, bool *told, struct nsx_err *err)
{
	struct nsx_findings *l = k->d->found;
	struct nsx_finding f = {
		.id = NSX_ID_elementwise, .confidence = NSX_CONF_LOW,
		.device = k->d->facts->limiting, .is_assumed = true};
	struct kin kin = find_kin(k, is_fusible);
	struct kin moves = find_kin(k, is_own_move);
	double share = time_of(k, kin.ns) / k->length_ns, chains = 1, amount;

	if (share < FAMILY_SHARE && time_of(k, moves.ns) < MOVES_SHARE * k->length_ns)
		return 0;
	if (find_chains(k, is_fusible, &chains, err))
		return err->rc;
	amount = NSX_MAX(chains, FUSED);
	if (kin.n < 2 && chains < FUSED)
		return 0;
	if (faster_kin(k, &kin, amount, &f.remedy, err))
		return err->rc;
	f.guess_ns = time_of(k, kin.ns) * (1 - 1 / amount);
	f.title = nsx_tell(l, say_kernels_work_element_by, moves.n ? "move data or " : "",
		kernels_tell_share(k, kin.ns));
	tell_kin(k, &kin, &f);
	f.is_bound = chains > FUSED;
	f.evidence[1] = f.is_bound ? say_an_upper_bound_as_if_2 :
				     nsx_tell(l, say_priced_as_if_fusion_made, FUSED);
	if (moves.n)
		nsx_add_evidence(
			&f, nsx_tell(l, say_only_moves_converts_or, nsx_tell_ns(l, moves.ns)));
	if (kernels_tell_place(k, false, kin.first, &f, err))
		return err->rc;
	f.recommendation[0] =
		k->d->is_pytorch ? say_fuse_torch_compile_fused : say_fuse_into_what_produces_or;
	nsx_found(l, &f);
	*told |= kin.n == 1 && kin.first == &k->names.v[0];
	return 0;
}
