/* kernels.c - kernels that could be faster: the one with most time, matrix products in f32 on a GPU
 * with tensor cores, elementwise work in kernels of its own, and launches that leave most of the
 * GPU empty: fewer blocks than multiprocessors, or too few warps for their schedulers.
 *
 * A kernel has a share of the time but no price if nothing shows how fast it could be.
 */
#include "detect/detect.h"
#include "detect/verdict.h"
#include "facts/floor.h"
#include "facts/metrics/metrics.h"
#include "facts/occupancy.h"
#include "facts/steps/limit.h"
#include "report/text.h"

#define KERNEL_SHARE 0.1 /* share of the window from which a kernel is named */
#define CLEARLY 1.25 /* a family is named if it takes this many times as long as its first kernel */
#define LEAST_ROOM 1.25 /* least ratio of multiprocessors to blocks that leaves room */
enum { MOST_NAMES = 256 }; /* most names searched for a family, those with most time */

struct kernel { /* kernels of one name or of one shape on a device, summed */
	int64_t ns, longest_ns;
	uint32_t count;
	uint32_t id;	/* id of the string, or index of the shape */
	uint32_t rank;	/* rank of the name among kernel names */
	uint32_t first; /* first operation                                   */
};
struct table {
	struct kernel *v;
	size_t n;
	/* by shape or rank: 1 + index in the unsorted v; 0: none; NSX_NONE: no room */
	uint32_t *at;
};
struct kernels {
	struct nsx_detect *d;
	struct table names; /* kernels of the limiting GPU by name; `at` is freed early */
	double length_ns, kernels_ns; /* length of the window, and of its kernels */
	double beside; /* mean number of concurrent kernels if they filled the window; at least 1 */
	const char *gpu; /* label of the limiting GPU */
};

/* The GPU's time that kernels with this sum of lengths represent. */
static double gpu_time_of(const struct kernels *k, int64_t ns)
{
	return (double)ns / k->beside;
}

static const struct nsx_kernel_words *words_of(const struct kernels *k, nsx_str name)
{
	return nsx_kernel_name(&k->d->facts->kernels, name)->words;
}

static const char *label_of(const struct kernels *k, nsx_str name)
{
	return nsx_kernel_label(&k->d->facts->kernels, name);
}

/* Whether an operation of the judged window is a kernel that computes. */
static bool is_looked_at(const struct kernels *k, size_t op)
{
	const struct nsx_ops *o = &k->d->trace->ops;

	return o->kind[op] == NSX_OP_KERNEL && o->cls[op] == NSX_C_COMPUTE;
}

static uint32_t device_of(const struct kernels *k, const struct kernel *x)
{
	return nsx_stream_of(k->d->trace, x->first)->device;
}

static double sm_count_of(const struct nsx_trace *t, uint32_t device)
{
	const struct nsx_gpu_info *gpu = nsx_device_gpu(t, device);

	return gpu ? (double)NSX_MAX(0, gpu->sm_count) : 0;
}

/* Orders by time, then calls (both descending), then name, then first operation. */
NSX_ORDER(cmp_kernels, struct kernel, DOWN(ns), DOWN(count), UP(rank), UP(first));

#define LONG_CALL 0.25	  /* one launch is a whole program from this share of the window */
/* share of kernel time from which device-wide counters describe one kernel */
#define MOST_COMPUTED 0.8
enum { FEWEST_SAMPLES = 10 };

/* "29 % of GPU 0's time" */
static const char *kernels_tell_share(const struct kernels *k, int64_t ns)
{
	return nsx_tell(k->d->found, "%s of GPU %s's %s",
			nsx_text_share(k->d->found->arena, gpu_time_of(k, ns), k->length_ns),
			k->gpu, k->beside > 1 ? "kernel time" : "time");
}

static uint32_t id_of(const struct kernels *k, bool by_shape, size_t op)
{
	return by_shape ? nsx_op_detail(&k->d->trace->ops, op) : nsx_op_name(k->d->trace, op);
}

/* Sums compute kernels of a device by name, or by shape those that leave room. Owner of the arrays:
 * d->scratch.
 */
static int kernels_sum(struct kernels *k, uint32_t device, bool by_shape,
		      struct table *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = k->d->trace;

	ret->n = 0;
	if (!nsx_new_array(ret->v, k->d->scratch, by_shape ? t->nshapes : k->d->facts->kernels.n,
			   "kernels", err) ||
	    !nsx_new_array(ret->at, k->d->scratch, by_shape ? t->nshapes : k->d->facts->kernels.n,
			   "kernels", err))
		return err->rc;
	NSX_EACH_JUDGED(k->d, device, i) {
		uint32_t shape, name, *at;
		struct kernel *x;

		if (!is_looked_at(k, i))
			continue;
		shape = nsx_op_detail(&t->ops, i);
		name = k->d->facts->kernels.of_shape[shape];
		at = &ret->at[by_shape ? shape : name];
		/* A kernel that fills a green context leaves the rest of the GPU to others. */
		if (by_shape && !*at &&
		    (nsx_stream_of(t, i)->is_green ||
		     !(nsx_launch_room(t, device, &t->shape[shape], 0).idle >= LEAST_ROOM)))
			*at = NSX_NONE;
		if (*at == NSX_NONE)
			continue;
		if (!*at) {
			ret->v[ret->n] = (struct kernel){
				.id = id_of(k, by_shape, i),
				.first = (uint32_t)i, .rank = name};
			*at = (uint32_t)++ret->n;
		}
		x = &ret->v[*at - 1];
		x->count++;
		nsx_add_to(&x->ns, nsx_op_ns(&t->ops, i));
		x->longest_ns = NSX_MAX(x->longest_ns, nsx_op_ns(&t->ops, i));
	}
	return 0;
}

static int64_t longest_first(const void *x, void *context NSX_UNUSED)
{
	return -((const struct kernel *)x)->ns;
}

static int cmp_kernel_names(const void *x, const void *y, void *context NSX_UNUSED)
{
	return cmp_kernels(x, y);
}

/* Adds the place where a kernel, or with a family all kernels of it, is launched. Walks all
 * operations of the device, so it is called only for kernels that are reported.
 */
static int kernels_tell_place(struct kernels *k, bool by_shape, const struct kernel *x,
		      const char *family, struct nsx_finding *f, struct nsx_err *err)
{
	struct nsx_places *places = nsx_new_places(k->d);

	NSX_EACH_JUDGED(k->d, device_of(k, x), i)
		if (is_looked_at(k, i) &&
		    (family ? !strcmp(words_of(k, nsx_op_name(k->d->trace, i))->family, family) :
			      id_of(k, by_shape, i) == x->id) &&
		    nsx_places_add_op(places, 0, i, nsx_op_ns(&k->d->trace->ops, i), err))
			return err->rc;
	nsx_places_tell(places, 0, f);
	return 0;
}

/* The compute capability of the limiting GPU. If the trace lacks it, the lowest that its kernels
 * need: a kernel built for 9.0 runs on nothing older, and cuBLAS uses nvjet kernels from 9.0 on
 * (seen on H200).
 */
struct arch {
	int64_t major, minor; /* 0: unknown */
	bool is_least;
};

/* The kernel with most time ------------------------------------------------------ */

static struct arch arch_of(const struct kernels *k)
{
	static const struct {
		const char *word;
		int major;
	} needs[] = {{"sm80_", 8}, {"ampere_", 8}, {"cutlass_80_", 8},
		     {"sm90_", 9}, {"nvjet_", 9},  {"cutlass_90_", 9}};
	const struct nsx_gpu_info *gpu = nsx_device_gpu(k->d->trace, k->d->facts->limiting);
	struct arch least = {.is_least = true};

	if (gpu && gpu->compute_major > 0)
		return (struct arch){gpu->compute_major, gpu->compute_minor,
				     false};
	for (size_t i = 0; i < k->names.n && i < MOST_NAMES; i++) {
		const char *full = nsx_text(k->d->trace, k->names.v[i].id);

		for (size_t j = 0; j < ARRAY_LEN(needs); j++)
			if (!strncmp(full, needs[j].word, strlen(needs[j].word)))
				least.major = NSX_MAX(least.major, needs[j].major);
	}
	return least;
}

/* The compiler that fused several operators into this kernel, by its family (kernel_words.c); NULL:
 * none.
 */
static const char *fused_by(const struct nsx_kernel_words *x)
{
	if (!strncmp(x->family, "triton ", strlen("triton ")))
		return "a compiler";
	return strncmp(x->family, "multi_tensor ", strlen("multi_tensor ")) ? NULL : "the program";
}

/* Whether a kernel accesses memory by index, so that scattered accesses bind it. */
static bool goes_by_index(const struct nsx_kernel_words *x)
{
	static const char *const by_index[] = {"gather", "scatter", "embedding",
					       "index_", "indexing_", "Index"};

	return NSX_ANY(i, ARRAY_LEN(by_index), !strcmp(x->pattern, by_index[i]));
}

static const char *advice_for_fused(const struct kernels *k, const char *full)
{
	struct arch gpu = arch_of(k);

	if (gpu.major != 9 || strcasestr(full, "sm90"))
		return say_fused_already_pack;
	return gpu.is_least ? say_fused_but_written_older : say_fused_but_not_written_gpu;
}

static const char *advice_for(const struct kernels *k, nsx_str name)
{
	static const char *const advice[NSX_NKERNEL_CATEGORIES] = {
		[NSX_K_GEMM] = say_check_shapes_dimensions,
		[NSX_K_ATTENTION] = say_use_fused_attention_kernel,
		[NSX_K_NORM] = say_fuse_with_neighbours,
		[NSX_K_ELEMENTWISE] = say_fuse_with_neighbours_bound,
		[NSX_K_REDUCE] = say_fuse_with_what_produces,
		[NSX_K_MOE] = say_check_balance_tokens_over,
		[NSX_K_MEMORY] = say_avoid_copies_or_fills,
	};
	const struct nsx_kernel_words *words = words_of(k, name);
	const char *full = nsx_text(k->d->trace, name);

	if (words->category == NSX_K_GEMM &&
	    (words->dtype == NSX_D_F16 || words->dtype == NSX_D_BF16))
		return nsx_tell(
			k->d->found, say_check_shapes_dimensions_2, nsx_dtype_names[words->dtype]);
	if (words->category == NSX_K_MEMORY && goes_by_index(words))
		return say_sort_or_group_indices_so;
	if (fused_by(words) && words->category != NSX_K_GEMM)
		return nsx_tell(k->d->found, say_fused_already_bound_by, fused_by(words));
	if (strcasestr(full, "flash") || strcasestr(full, "fmha"))
		return advice_for_fused(k, full);
	return advice[words->category];
}

static size_t identifier_bytes(const char *s)
{
	return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

static bool is_identifier(const char *s)
{
	size_t n = identifier_bytes(s);

	return n && !s[n];
}

/* Advice to profile with Nsight Compute, which selects by function name. All instances of a wrapper
 * template share one; they are selected by the name of their family.
 */
static const char *profile_advice(const struct kernels *k, const struct kernel *x, const char *what)
{
	/* bytes of a name that is specific enough, and still readable */
	enum { LEAST = 4, MOST = 48 };
	const struct nsx_trace *t = k->d->trace;
	const char *family = words_of(k, x->id)->family, *filter;
	const char *base = nsx_text(t, nsx_op_shape(t, x->first)->base_name);

	if (!strcmp(nsx_text(t, x->id), nsx_unnamed))
		return say_see_which_no_name_was;
	if (is_identifier(family) && strcmp(family, base) && strstr(nsx_text(t, x->id), family))
		filter = nsx_tell(k->d->found, say_kernel_name_base_demangled, family);
	else if (is_identifier(base) || identifier_bytes(base) >= LEAST)
		filter = nsx_tell(k->d->found, "-k %s%.*s",
				  strlen(base) > MOST || !is_identifier(base) ? "regex:" : "",
				  (int)NSX_MIN(identifier_bytes(base), (size_t)MOST), base);
	else
		filter = "-k regex:NAME";
	return nsx_tell(k->d->found, say_profile_with_ncu_set_full, what, filter, what);
}

/* Says what counters show of kernels that are most of all compute, or else that their possible
 * speed is unknown.
 */
static const char *say_bound(const struct kernels *k, int64_t ns, int64_t count)
{
	struct nsx_counters c = nsx_counters_of(k->d->facts->metrics, k->d->facts->limiting);
	enum nsx_bound bound = nsx_bound_by(&c, NSX_SCOPE_COMPUTE);

	if ((double)ns < MOST_COMPUTED * k->kernels_ns || !c.of[NSX_SM_ISSUE] ||
	    bound == NSX_BOUND_UNKNOWN ||
	    c.of[NSX_SM_ISSUE]->scope[NSX_SCOPE_COMPUTE].n < FEWEST_SAMPLES)
		return gpu_time_of(k, ns) > LONG_CALL * (double)count * k->length_ns ?
			       say_what_happens_inside :
			       say_how_fast_could_be_not;
	return nsx_tell(k->d->found, say_while_kernels_compute_dram,
		nsx_dram_typical(&c, NSX_SCOPE_COMPUTE),
		nsx_counter_typical(&c, NSX_SM_ISSUE, NSX_SCOPE_COMPUTE),
		bound == NSX_BOUND_MEMORY  ? say_memory_what_limits :
		bound == NSX_BOUND_COMPUTE ? say_arithmetic_what_limits :
					     say_neither_near_limit);
}

/* The family with most time, as the sum of its kernels, among the few hundred kernels with most
 * time. *ret_n: how many they are.
 */
static struct kernel find_family(struct kernels *k, size_t *ret_n)
{
	size_t n = NSX_MIN(k->names.n, (size_t)MOST_NAMES);
	struct kernel best = {.ns = 0};

	for (size_t i = 0; i < n; i++) {
		struct kernel sum = {.first = k->names.v[i].first, .id = k->names.v[i].id};
		size_t kin = 0;

		for (size_t j = i; j < n; j++) {
			const struct kernel *x = &k->names.v[j];

			if (strcmp(words_of(k, x->id)->family, words_of(k, sum.id)->family))
				continue;
			nsx_add_to(&sum.ns, x->ns);
			sum.count += x->count;
			kin++;
		}
		if (sum.ns > best.ns) {
			best = sum;
			*ret_n = kin;
		}
	}
	return best;
}

static int propose_family(struct kernels *k, const struct kernel *x, size_t n,
			  struct nsx_err *err)
{
	struct nsx_findings *l = k->d->found;
	const char *family = words_of(k, x->id)->family;
	struct nsx_finding f = {.id = NSX_ID_top_kernel,
		.subject = family, .confidence = NSX_CONF_LOW, .device = k->d->facts->limiting,
		.weight = gpu_time_of(k, x->ns) / k->length_ns,
		.title = nsx_tell(l, say_kernels_take, nsx_tell_name(l, family),
			kernels_tell_share(k, x->ns)),
		.evidence = {nsx_tell(l, say_kernels_one_family_calls, n,
				     nsx_tell_ns(l, x->ns), (long long)x->count),
			say_bound(k, x->ns, x->count)},
		.recommendation = {profile_advice(k, x, "them")},
		.proof = {{.csv = "kernel_families", .column = "total_time_ms",
			.at = {{"family", nsx_string(family)}}}}};

	if (kernels_tell_place(k, false, x, family, &f, err))
		return err->rc;
	nsx_found(l, &f);
	return 0;
}

/* "in full: NAME"; NULL if the label already is the full name or the name is too long to read. */
static const char *kernels_full_name(const struct kernels *k, nsx_str name)
{
	enum { LEGIBLE = 500 };
	struct nsx_findings *l = k->d->found;
	const char *full = nsx_text(k->d->trace, name);

	return strlen(full) <= LEGIBLE && strcmp(label_of(k, name), full) ?
		       nsx_tell(l, "in full: %s",
				nsx_text_whole_name(l->arena, full)) :
		       NULL;
}

/* Proposes the kernel with most time, unless another finding covers it. If a family takes clearly
 * more, its kernels are named together.
 */
static int propose_top(struct kernels *k, const struct kernel *top, struct nsx_err *err)
{
	struct nsx_findings *l = k->d->found;
	const char *full = nsx_text(k->d->trace, top->id);
	const struct nsx_finding *um = nsx_find_finding(l, NSX_ID_unified_memory);
	const char *advice = advice_for(k, top->id);
	const char *name = nsx_tell_name(l, label_of(k, top->id));
	double share = gpu_time_of(k, top->ns) / k->length_ns;
	size_t nkin = 0;
	struct kernel kin = find_family(k, &nkin);
	unsigned n = 0;
	struct nsx_finding f = {
		.id = NSX_ID_top_kernel, .subject = full,
		.confidence = NSX_CONF_LOW,
		.device = k->d->facts->limiting,
		.weight = share,
		.proof = {{.csv = "critical_path", .column = "total_ms",
			   .at = {{"kind", nsx_string("kernel")},
				  {"name", nsx_string(full)}}}}};

	if (um && 3 * um->measured_ns >= (double)top->ns)
		return 0; /* the kernel waits for pages */
	if (gpu_time_of(k, kin.ns) >= KERNEL_SHARE * k->length_ns &&
	    (share < KERNEL_SHARE || (double)kin.ns >= CLEARLY * (double)top->ns))
		return propose_family(k, &kin, nkin, err);
	if (share < KERNEL_SHARE) {
		if (nsx_graphs_hide(&k->d->facts->graphs))
			return 0;
		nsx_fine(
			l, say_no_compute_kernel, k->gpu, name, nsx_text_share(l->arena, share, 1));
		return 0;
	}
	f.title = nsx_tell(l, "kernel %s takes %s", name, kernels_tell_share(k, top->ns));
	f.evidence[0] = nsx_tell(l, "%s in %s%s", nsx_tell_ns(l, top->ns),
		nsx_text_n(l->arena, (size_t)top->count, "call", NULL),
		top->count == 1 ? "" :
		nsx_tell(l, ", %s a call", nsx_text_ns(l->arena,
				(double)top->ns / (double)top->count)));
	f.evidence[1] = say_bound(k, top->ns, top->count);
	if (kernels_tell_place(k, false, top, NULL, &f, err))
		return err->rc;
	nsx_add_evidence(&f, kernels_full_name(k, top->id));
	if (advice)
		f.recommendation[n++] = advice;
	f.recommendation[n] = profile_advice(k, top, "it");
	nsx_found(l, &f);
	return 0;
}

/* Groups with one remedy ---------------------------------------------------------- */

#define FAMILY_SHARE 0.15
/* share from which kernels that compute nothing are reported; lower than for others */
#define MOVES_SHARE 0.08
#define FUSED 2.0
/* least ratio of the peaks with and without tensor cores, from compute capability 8.0 on */
#define LEAST_RATIO 2.0

/* Whether a kernel is a matrix product without tensor cores. A matrix times a vector is not one: it
 * is bound by memory in any type.
 */
static bool is_f32_matrix(const struct nsx_kernel_words *x)
{
	return x->category == NSX_K_GEMM && x->dtype == NSX_D_F32 && !strstr(x->label, "gemv");
}

/* Whether a kernel only moves, converts or fills data in order, and no compiler fused it. */
static bool is_own_move(const struct nsx_kernel_words *x)
{
	return !fused_by(x) && x->category == NSX_K_MEMORY && !goes_by_index(x);
}

/* Whether a kernel is bound by memory and could be fused with the producer or consumer of its data.
 */
static bool is_fusible(const struct nsx_kernel_words *x)
{
	return is_own_move(x) || (!fused_by(x) && x->category == NSX_K_ELEMENTWISE);
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
static int propose_f32(struct kernels *k, bool *told, struct nsx_err *err)
{
	struct arch gpu = arch_of(k);
	double ratio = gpu.is_least && gpu.major ? LEAST_RATIO :
						   nsx_tensor_ratio(gpu.major, gpu.minor);
	double amount = NSX_MAX(1.5, ratio / 2);
	struct nsx_findings *l = k->d->found;
	struct nsx_finding f = {
		.id = NSX_ID_f32_matrix, .confidence = NSX_CONF_MEDIUM,
		.device = k->d->facts->limiting, .is_assumed = true};
	struct kin kin = find_kin(k, is_f32_matrix);
	double share = gpu_time_of(k, kin.ns) / k->length_ns;

	if (!(ratio > 0) || share < FAMILY_SHARE)
		return 0;
	if (faster_kin(k, &kin, amount, &f.remedy, err))
		return err->rc;
	/* these kernels may wait for pages of unified memory */
	f.weight = nsx_find_finding(l, NSX_ID_unified_memory) ? 0 : share;
	f.guess_ns = gpu_time_of(k, kin.ns) * (1 - 1 / amount);
	f.title = nsx_tell(l, say_matrix_products_f32_take, kernels_tell_share(k, kin.ns));
	tell_kin(k, &kin, &f);
	f.evidence[1] = nsx_tell(l, say_taken_as_times_as_fast, amount);
	f.evidence[2] = nsx_tell(l, say_those_have_times_peak_f32,
		gpu.is_least ? say_gpu_runs_kernels : "this GPU", (long long)gpu.major,
		(long long)gpu.minor, gpu.is_least ? " or newer" : "",
		gpu.is_least ? "at least " : "", ratio);
	if (kernels_tell_place(k, false, kin.first, NULL, &f, err))
		return err->rc;
	/* Tensor cores before compute capability 8.0 take neither TF32 nor BF16. */
	f.recommendation[0] = gpu.major < 8 ?
		k->d->is_pytorch ? say_use_fp16_torch_autocast : say_use_fp16_cublas_compute :
		k->d->is_pytorch ? say_allow_tf32_torch_set : say_allow_tf32_cublas_compute;
	nsx_found(l, &f);
	*told = kin.first == &k->names.v[0];
	return 0;
}

static int propose_elementwise(struct kernels *k, struct nsx_err *err)
{
	struct nsx_findings *l = k->d->found;
	struct nsx_finding f = {
		.id = NSX_ID_elementwise, .confidence = NSX_CONF_LOW,
		.device = k->d->facts->limiting, .is_assumed = true};
	struct kin kin = find_kin(k, is_fusible);
	struct kin moves = find_kin(k, is_own_move);
	double share = gpu_time_of(k, kin.ns) / k->length_ns;

	if (kin.n < 2 || (share < FAMILY_SHARE &&
			  gpu_time_of(k, moves.ns) < MOVES_SHARE * k->length_ns))
		return 0;
	if (faster_kin(k, &kin, FUSED, &f.remedy, err))
		return err->rc;
	f.guess_ns = gpu_time_of(k, kin.ns) * (1 - 1 / FUSED);
	f.title = nsx_tell(l, say_kernels_work_element_by, moves.n ? "move data or " : "",
		kernels_tell_share(k, kin.ns));
	tell_kin(k, &kin, &f);
	f.evidence[1] = nsx_tell(l, say_priced_as_if_fusion_made, FUSED);
	if (moves.n)
		nsx_add_evidence(
			&f, nsx_tell(l, say_only_moves_converts_or, nsx_tell_ns(l, moves.ns)));
	if (kernels_tell_place(k, false, kin.first, NULL, &f, err))
		return err->rc;
	f.recommendation[0] =
		k->d->is_pytorch ? say_fuse_torch_compile_fused : say_fuse_into_what_produces_or;
	nsx_found(l, &f);
	return 0;
}

/* Small grids ------------------------------------------------------------------------ */

#define GRID_SHARE 0.01
#define TWICE 2.0
enum {
	MOST_SHAPES = 16,
	MOST_BESIDE = 128,  /* most kernels that a GPU runs at the same time */
	LONG_NS = 10000, /* a shorter kernel takes the time of its start     */
};

/* Number of multiprocessors that a launch fills; 0: unknown. */
static double filled_sms(const struct nsx_trace *t, const struct nsx_shape *s, double sm_count)
{
	return nsx_shape_launch(t, s)->known ?
		       NSX_MIN((double)nsx_shape_blocks(t, s), sm_count) : 0;
}

/* Adds to block_ns, by shape, the blocks of kernels that run beside those of the shape, weighted by
 * the time that they do.
 */
static void kernel_grids_add_beside(const struct kernels *k, uint32_t device,
				    const struct table *shapes, double *block_ns)
{
	const struct nsx_trace *t = k->d->trace;
	const struct nsx_ops *o = &t->ops;
	double sm_count = sm_count_of(t, device);
	uint32_t open[MOST_BESIDE]; /* kernels that may still run when the next one starts */
	size_t n = 0;

	NSX_EACH_JUDGED(k->d, device, i) {
		size_t left = 0;

		if (!is_looked_at(k, i))
			continue;
		for (size_t j = 0; j < n; j++) {
			uint32_t x = nsx_op_detail(o, i), y = nsx_op_detail(o, open[j]);
			int64_t ns = NSX_MIN(nsx_op_end(o, i), nsx_op_end(o, open[j])) -
				     nsx_op_start(o, i);

			if (ns <= 0)
				continue;
			if (shapes->at[x] != NSX_NONE)
				block_ns[shapes->at[x] - 1] +=
					(double)ns * filled_sms(t, &t->shape[y], sm_count);
			if (shapes->at[y] != NSX_NONE)
				block_ns[shapes->at[y] - 1] +=
					(double)ns * filled_sms(t, &t->shape[x], sm_count);
			open[left++] = open[j];
		}
		n = left;
		if (n < MOST_BESIDE)
			open[n++] = (uint32_t)i;
	}
}

/* How many times as fast a shape could be if it filled the GPU. A short kernel takes the time of
 * its start, also if one of its launches was held up.
 */
static struct nsx_room room_of(const struct kernels *k, const struct kernel *x, double block_ns)
{
	if ((x->ns - (x->count > 1 ? x->longest_ns : 0)) / NSX_MAX(x->count - 1, 1u) < LONG_NS)
		return (struct nsx_room){1, 1};
	return nsx_launch_room(k->d->trace, device_of(k, x), &k->d->trace->shape[x->id],
			       block_ns / (double)x->ns);
}

/* Lists in ret->rows the operations of one shape, on its device in the judged window. */
static int list_ops(struct kernels *k, const struct kernel *x,
		    struct nsx_change *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = k->d->trace;
	struct nsx_row_list rows = {0};

	NSX_EACH_JUDGED(k->d, device_of(k, x), i)
		if (is_looked_at(k, i) && nsx_op_detail(&t->ops, i) == x->id &&
		    nsx_list_row(k->d, &rows, i, err))
			return err->rc;
	ret->rows = nsx_keep_rows(k->d, rows.v, rows.n);
	nsx_arena_drop(k->d->scratch, rows.v);
	return 0;
}

/* Tells why launches of a kernel never run side by side, unless some do. Those on several streams
 * could. So could those of one stream that do not need each other's results, but no trace shows
 * that need.
 */
static void tell_streams(struct kernels *k, const struct nsx_change *c, struct nsx_finding *f)
{
	const struct nsx_trace *t = k->d->trace;
	const struct nsx_ops *o = &t->ops;
	bool *seen = nsx_arena_get(k->d->scratch, (size_t)t->nstreams + 1);
	int64_t end_ns = INT64_MIN, beside_ns = 0;
	size_t n = c->rows.n, nstreams = 0, queued = 0;
	uint32_t before = NSX_NONE;

	NSX_EACH_ROW(&c->rows, op) {
		int64_t start_ns = nsx_op_start(o, op);
		uint32_t call = nsx_op_call(o, op);

		nstreams += !seen[nsx_op_stream(o, op)];
		seen[nsx_op_stream(o, op)] = true;
		queued += before != NSX_NONE && op == before + 1 &&
			  call != NSX_NONE &&
			  nsx_call_end(&t->calls, call) <= nsx_op_end(o, before);
		before = op;
		if (end_ns > start_ns)
			nsx_add_to(&beside_ns, NSX_MIN(end_ns, nsx_op_end(o, op)) - start_ns);
		end_ns = NSX_MAX(end_ns, nsx_op_end(o, op));
	}
	if (n < 2 || beside_ns)
		return;
	if (nstreams == 1) {
		nsx_add_evidence(f, nsx_tell(k->d->found, say_all_calls_on_one_stream,
			2 * queued < n ? "" :
			nsx_tell(k->d->found, say_stand_right_behind_one, queued, n)));
		return;
	}
	nsx_insert_evidence(f, 1, nsx_tell(k->d->found, say_calls_spread_over_streams, nstreams));
	nsx_advise_first(f, say_see_what_keeps_streams_apart);
}

struct grid {
	struct kernel shape;
	struct nsx_room room; /* how many times as fast the shape could be   */
	double won_ns;	      /* most time that filling the GPU can win      */
};
struct grids { /* small grids of all GPUs                                    */
	struct grid *top; /* sorted by gain, descending; MOST_SHAPES at most */
	/* v: the change of each shape, by all of its room; least: by TWICE at most */
	struct nsx_change *v, *least;
	size_t n, cap;
	int64_t ns;
	double won_ns;
};

/* cmp_kernels can read a struct grid, which begins with its kernel. */
NSX_ORDER(cmp_grids, struct grid, DOWN(won_ns), BY(cmp_kernels));

/* Lists shapes that could be LEAST_ROOM times as fast or faster. */
static int list_grids(struct kernels *k, struct grids *grids, struct nsx_err *err)
{
	for (uint32_t d = 0; d < k->d->trace->ndevices; d++) {
		struct table shapes = {0};
		double *block_ns;

		if (kernels_sum(k, d, true, &shapes, err) ||
		    !nsx_new_array(block_ns, k->d->scratch, shapes.n, "kernels",
				   err))
			return err->rc;
		kernel_grids_add_beside(k, d, &shapes, block_ns);
		for (size_t i = 0; i < shapes.n; i++) {
			struct grid x = {.shape = shapes.v[i]};

			x.room = room_of(k, &x.shape, block_ns[i]);
			x.won_ns = (double)x.shape.ns * (1 - 1 / x.room.most);
			if (x.room.idle >= LEAST_ROOM &&
			    nsx_push(grids->top, grids->n, grids->cap, "kernels", err, x))
				return err->rc;
		}
		nsx_arena_drop(k->d->scratch, block_ns);
		nsx_arena_drop(k->d->scratch, shapes.v);
		nsx_arena_drop(k->d->scratch, shapes.at);
	}
	nsx_sort(grids->top, grids->n, sizeof(*grids->top), cmp_grids);
	grids->n = NSX_MIN(grids->n, MOST_SHAPES);
	return 0;
}

static int price_grids(struct kernels *k, struct grids *ret, struct nsx_err *err)
{
	ret->v = nsx_arena_get(k->d->found->arena, 2 * ret->n * sizeof(*ret->v));
	ret->least = ret->v + ret->n;
	for (size_t i = 0; i < ret->n; i++) {
		const struct grid *g = &ret->top[i];

		ret->won_ns += g->won_ns;
		ret->v[i] = (struct nsx_change){.verb = NSX_FASTER, .op = NSX_ON_KERNELS,
						.amount = g->room.most,
						.fills = true};
		if (list_ops(k, &g->shape, &ret->v[i], err))
			return err->rc;
		ret->least[i] = ret->v[i];
		ret->least[i].amount = NSX_MIN(TWICE, g->room.most);
	}
	return 0;
}

/* Says whether the first shape has too few blocks, too few threads in them, or both. */
static const char *say_few(const struct kernels *k, const struct grid *g)
{
	const struct nsx_trace *t = k->d->trace;
	double blocks = (double)nsx_shape_blocks(t, &t->shape[g->shape.id]);
	bool few = blocks < sm_count_of(t, device_of(k, &g->shape));

	return g->room.most <= g->room.idle ? "few blocks" :
	       few			    ? say_few_small_blocks :
					      "small blocks";
}

/* "10 blocks of 16 threads on 28 multiprocessors, 1 call of 1.31 s" */
static const char *say_launch(const struct kernels *k, const struct kernel *x)
{
	const struct nsx_trace *t = k->d->trace;
	const struct nsx_shape *s = &t->shape[x->id];
	struct nsx_findings *l = k->d->found;

	return nsx_tell(l, say_on_multiprocessors,
		nsx_text_n(l->arena, (size_t)nsx_shape_blocks(t, s), "block", NULL),
		nsx_text_n(l->arena, (size_t)nsx_extent(nsx_shape_launch(t, s)->block), "thread",
			NULL),
		(long long)nsx_device_gpu(t, device_of(k, x))->sm_count,
		nsx_text_n(l->arena, (size_t)x->count, "call", NULL),
		nsx_text_ns(l->arena, (double)x->ns / (double)x->count));
}

static struct nsx_finding small_finding(struct kernels *k, const struct grids *small)
{
	struct nsx_findings *l = k->d->found;
	const struct grid *top = &small->top[0];
	nsx_str name = k->d->trace->shape_name[top->shape.id];
	const char *most = say_launch(k, &top->shape);
	struct nsx_finding f = {.id = NSX_ID_small_grids,
		.title = nsx_tell(l, say_kernels_with_leave_gpu, say_few(k, top),
			top->room.most >= 2 ? "most" : "part", nsx_tell_name(l, label_of(k, name))),
		.confidence = NSX_CONF_MEDIUM, .device = device_of(k, &top->shape),
		.guess_ns = small->won_ns, .is_rule = true,
		.weight = (double)top->shape.ns / k->length_ns,
		.evidence = {small->n == 1 ? most : nsx_tell(l, say_launch_shapes_first,
			nsx_tell_ns(l, small->ns), small->n, most)},
		.recommendation = {say_give_each_launch_more_work, say_or_run_those_do_not},
		.proof = {{.csv = "kernel_shapes",
			.column = "total_ms",
			.at = {{"kernel_name", nsx_string(nsx_text(k->d->trace, name))},
				{"is_small_grid", nsx_bool(true)}}}},
		.remedy = {small->v, small->n}};

	f.surely = (struct nsx_plan){small->least, small->n};
	f.if_least = say_if_twice_as_many_threads;
	if (top->room.most <= top->room.idle)
		return f;
	f.proof[0].at[1].column = NULL; /* small blocks count, even in a large grid */
	nsx_advise_first(&f, say_launch_blocks_128_512);
	return f;
}

static int propose_small_grids(struct kernels *k, struct grids *small, bool *told,
			       struct nsx_err *err)
{
	const struct nsx_finding *um = nsx_find_finding(k->d->found, NSX_ID_unified_memory);
	struct nsx_finding f;
	nsx_str name;

	for (size_t i = 0; i < small->n; i++)
		nsx_add_to(&small->ns, small->top[i].shape.ns);
	if (!small->n || (double)small->ns < GRID_SHARE * k->length_ns)
		return 0;
	if (price_grids(k, small, err))
		return err->rc;
	f = small_finding(k, small);
	name = k->d->trace->shape_name[small->top->shape.id];
	tell_streams(k, &small->v[0], &f);
	if (um) {
		f.most_ns = NSX_MAX(0, small->won_ns - NSX_MAX(um->guess_ns, um->measured_ns));
		f.remedy.n = f.surely.n = 0;
		f.guess_ns = f.weight = 0;
		nsx_add_evidence(&f, say_may_wait_pages);
	} else {
		nsx_add_evidence(&f, say_priced_as_if_each_filled);
	}
	if (kernels_tell_place(k, true, &small->top->shape, NULL, &f, err))
		return err->rc;
	nsx_add_evidence(&f, kernels_full_name(k, name));
	nsx_found(k->d->found, &f);
	*told |= name == k->names.v[0].id;
	return 0;
}

/* Sets *told if the first shape belongs to the kernel with most time. */
static int propose_grids(struct kernels *k, bool *told, struct nsx_err *err)
{
	struct grids small = {0};
	int rc = list_grids(k, &small, err) ?: propose_small_grids(k, &small, told, err);

	free(small.top);
	return rc;
}

int nsx_detect_kernels(struct nsx_detect *d, struct nsx_err *err)
{
	struct kernels k = {.d = d, .length_ns = d->length_ns};
	bool told = false;
	int rc;

	if (d->facts->limiting == NSX_NONE)
		return 0;
	k.gpu = nsx_gpu_label(d->trace, d->facts->limiting);
	rc = kernels_sum(&k, d->facts->limiting, false, &k.names, err);
	if (rc || !k.names.n)
		return rc;
	nsx_arena_drop(d->scratch, k.names.at);
	for (size_t i = 0; i < k.names.n; i++)
		k.kernels_ns += (double)k.names.v[i].ns;
	k.beside = NSX_MAX(1, k.kernels_ns / k.length_ns);
	nsx_sort_by_key_r(k.names.v, k.names.n, MOST_NAMES, sizeof(*k.names.v), longest_first,
			  cmp_kernel_names, NULL);
	if (propose_f32(&k, &told, err) || propose_grids(&k, &told, err) ||
	    propose_elementwise(&k, err))
		return err->rc;
	return told ? 0 : propose_top(&k, &k.names.v[0], err);
}
