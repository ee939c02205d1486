/* kernels.c - kernels that could be faster: the one that takes most, matrix
 * products in f32 where the GPU has tensor cores, element by element work in
 * kernels of its own, grids that fill only a part of the GPU, and those whose last
 * blocks do.
 *
 * How much faster is a stated guess, but for small grids: with as many blocks as
 * multiprocessors a kernel is at most multiprocessors over blocks as fast.
 */
#include <math.h>
#include <string.h>
#include "detect/detect.h"
#include "facts/kernel_name.h"
#include "facts/occupancy.h"
#include "report/text.h"

#define KERNEL_SHARE 0.1 /* of the window, from which a kernel is named */
#define FAMILY_SHARE 0.15
#define GRID_SHARE 0.01
#define LEAST_ROOM 1.25 /* multiprocessors over blocks */
#define BETTER_CODE 1.25 /* times as fast: assumed */
#define ASSUMED_BETTER "priced as if better code made it 1.25 times as fast"
#define FUSED 2.0
enum {
	MOST_NAMES = 256,   /* looked at for a family                        */
	MOST_SHAPES = 8,
	MOST_BESIDE = 128,  /* kernels that a GPU runs at once               */
	MOST_FUSED = 64, /* kernels, as TorchInductor takes into one         */
	LONG_NS = 10000, /* a shorter kernel is bound by its start           */
};

struct kernel { /* by name, or by shape; on one device */
	int64_t ns;
	uint32_t count;
	uint32_t id;	/* string, or index of shape                         */
	uint32_t rank;	/* of the name                                       */
	uint32_t first; /* op of it                                          */
};
struct table {
	struct kernel *v;
	size_t n;
	uint32_t *at; /* index + 1 before v was sorted, by id; 0: not here;
			 NSX_NONE: has no room                               */
};
struct kernels {
	struct nsx_detect *d;
	struct table names; /* on the limiting GPU; at: was given back       */
	uint64_t *has_name; /* bits, by string: of those                     */
	double length_ns;
	double beside; /* kernels at a time, if they filled the window; >= 1 */
	long long device_id; /* of the limiting GPU */
};

/* What of its time the GPU has for those that take so long one after another. */
static double time_of(const struct kernels *k, int64_t ns)
{
	return (double)ns / k->beside;
}

static const char *tell_share(const struct kernels *k, int64_t ns)
{
	return nsx_tell(k->d->found, "%s of GPU %lld's %s",
			nsx_text_share(k->d->found->arena, time_of(k, ns),
				       k->length_ns),
			k->device_id, k->beside > 1 ? "kernel time" : "time");
}

static const struct nsx_kernel_words *words_of(const struct kernels *k,
					       nsx_str name)
{
	return nsx_kernel_name(&k->d->facts->kernels, name)->words;
}

static const char *label_of(const struct kernels *k, nsx_str name)
{
	return nsx_kernel_label(&k->d->facts->kernels, name);
}

static bool is_looked_at(const struct kernels *k, size_t op)
{
	const struct nsx_ops *o = &k->d->trace->ops;

	return o->kind[op] == NSX_OP_KERNEL && o->cls[op] == NSX_C_COMPUTE &&
	       nsx_is_judged(k->d, nsx_op_start(o, op));
}

static uint32_t id_of(const struct kernels *k, bool by_shape, size_t op)
{
	return by_shape ? nsx_op_detail(&k->d->trace->ops, op) :
			  nsx_op_name(k->d->trace, op);
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

/* Whether its blocks leave so many multiprocessors without work, in the only turn or
 * in the last, that it could be LEAST_ROOM times as fast.
 */
static bool has_room(const struct nsx_shape *s, double sm_count)
{
	double sms = (double)nsx_shape_blocks(s) / sm_count;

	return s->launch->known && sm_count > 0 && sms > 0 &&
	       ceil(sms) / sms >= LEAST_ROOM;
}

/* By name, or by shape: those with room. */
static int sum_device(struct kernels *k, uint32_t device, bool by_shape,
		      struct table *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = k->d->trace;
	const struct nsx_device *dev = &t->device[device];
	double sm_count = sm_count_of(t, device);

	ret->n = 0;
	if (!nsx_new_array(ret->v, k->d->scratch,
			   by_shape ? t->nshapes : k->d->facts->kernels.n,
			   "kernels", err) ||
	    !nsx_new_array(ret->at, k->d->scratch,
			   by_shape ? t->nshapes :
				      nsx_strings_bound(t->strings),
			   "kernels", err))
		return err->rc;
	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		struct kernel *x;
		uint32_t id;

		if (!is_looked_at(k, i))
			continue;
		id = id_of(k, by_shape, i);
		if (by_shape && !ret->at[id] && !has_room(&t->shape[id], sm_count))
			ret->at[id] = NSX_NONE;
		if (ret->at[id] == NSX_NONE)
			continue;
		if (!ret->at[id]) {
			ret->v[ret->n] = (struct kernel){
				.id = id, .first = (uint32_t)i,
				.rank = t->rank[nsx_op_name(t, i)]};
			ret->at[id] = (uint32_t)++ret->n;
		}
		x = &ret->v[ret->at[id] - 1];
		x->count++;
		nsx_add_to(&x->ns, nsx_op_ns(&t->ops, i));
	}
	return 0;
}

/* On the limiting GPU. */
static int sum_names(struct kernels *k, struct nsx_err *err)
{
	const struct nsx_trace *t = k->d->trace;

	if (!nsx_new_array(k->has_name, k->d->scratch,
			   nsx_strings_bound(t->strings) / 64 + 1, "kernels",
			   err) ||
	    sum_device(k, k->d->facts->limiting, false, &k->names, err))
		return err->rc;
	nsx_arena_drop(k->d->scratch, k->names.at);
	k->names.at = NULL;
	for (size_t i = 0; i < k->names.n; i++)
		k->has_name[k->names.v[i].id / 64] |=
			UINT64_C(1) << k->names.v[i].id % 64;
	return 0;
}

static bool has_name(const struct kernels *k, nsx_str name)
{
	return k->has_name[name / 64] >> name % 64 & 1;
}

/* By time, then by what is shown, then by which ran first. */
NSX_ORDER(cmp_kernels, struct kernel, DOWN(ns), DOWN(count), UP(rank),
	  UP(first));

/* The first MOST_NAMES come first, in order; the rest, which may be a million, stays in
 * any.
 */
static void sort_first(struct table *t)
{
	size_t n = NSX_MIN(t->n, (size_t)MOST_NAMES);

	nsx_sort(t->v, n, sizeof(*t->v), cmp_kernels);
	for (size_t i = n; i < t->n; i++) {
		struct kernel x = t->v[i];

		if (cmp_kernels(&x, &t->v[MOST_NAMES - 1]) > 0)
			continue;
		t->v[i] = t->v[n];
		t->v[n++] = x;
		if (n == 2 * MOST_NAMES) {
			nsx_sort(t->v, n, sizeof(*t->v), cmp_kernels);
			n = MOST_NAMES;
		}
	}
	nsx_sort(t->v, n, sizeof(*t->v), cmp_kernels);
}

/* What was found of it before; NULL: nothing. */
static const struct nsx_finding *unified_memory(const struct nsx_findings *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].id == NSX_ID_unified_memory)
			return &l->v[i];
	return NULL;
}

/* Where a kernel is launched: looked for among all its calls only once it is told
 * of.
 */
static int tell_place(struct kernels *k, bool by_shape, const struct kernel *x,
		      struct nsx_finding *f, struct nsx_err *err)
{
	const struct nsx_trace *t = k->d->trace;
	const struct nsx_device *dev = &t->device[device_of(k, x)];
	struct nsx_place most = {0, NSX_NONE};
	struct nsx_places places = {0};
	int rc = 0;

	for (size_t i = x->first; !rc && i < dev->ops_at + dev->nops; i++)
		if (is_looked_at(k, i) && id_of(k, by_shape, i) == x->id)
			rc = nsx_places_add(
				&places, t, 0,
				nsx_op_range(&k->d->facts->nvtx, i),
				nsx_op_call(&t->ops, i),
				nsx_op_ns(&t->ops, i), &most, err);
	if (!rc)
		nsx_places_tell(k->d, &places, 0, &most, f);
	nsx_places_done(&places);
	return rc;
}

/* The kernel that takes most ------------------------------------------------------*/

/* The compute capability of the limiting GPU.  Where the trace does not hold it,
 * the least that its kernels need: one made for 9.0 runs on nothing older, and
 * cuBLAS has nvjet from there on (seen on H200).
 */
struct arch {
	int64_t major, minor; /* 0: not known */
	bool is_least;
};

static struct arch arch_of(const struct kernels *k)
{
	static const struct {
		const char *word;
		int major;
	} needs[] = {{"sm80_", 8}, {"ampere_", 8}, {"cutlass_80_", 8},
		     {"sm90_", 9}, {"nvjet_", 9},  {"cutlass_90_", 9}};
	const struct nsx_gpu_info *gpu =
		nsx_device_gpu(k->d->trace, k->d->facts->limiting);
	struct arch least = {.is_least = true};

	if (gpu && gpu->compute_major > 0)
		return (struct arch){gpu->compute_major, gpu->compute_minor,
				     false};
	for (size_t i = 0; i < k->names.n && i < MOST_NAMES; i++) {
		const char *full = nsx_text(k->d->trace, k->names.v[i].id);

		for (size_t j = 0; j < ARRAY_LEN(needs); j++)
			if (!strncmp(full, needs[j].word,
				     strlen(needs[j].word)))
				least.major = NSX_MAX(least.major,
						      needs[j].major);
	}
	return least;
}

static const char *advice_for_fused(const struct kernels *k, const char *full)
{
	struct arch gpu = arch_of(k);

	if (gpu.major != 9 || strstr(full, "sm90"))
		return "it is fused already: pack sequences instead of padding "
		       "them, use a causal or a window mask";
	return gpu.is_least ?
		       "it is fused, but written for older GPUs than this one, "
		       "whose other kernels need Hopper or newer: "
		       "FlashAttention-3 or cuDNN use what Hopper has" :
		       "it is fused, but not written for this GPU: "
		       "FlashAttention-3 or cuDNN use what Hopper has";
}

static const char *advice_for(const struct kernels *k, nsx_str name)
{
	static const char *const advice[NSX_NKERNEL_CATEGORIES] = {
		[NSX_K_GEMM] = "check its shapes (dimensions that are "
			       "multiples of 16) and its precision (the "
			       "narrowest type that program and GPU allow)",
		[NSX_K_ATTENTION] = "use a fused attention kernel "
				    "(FlashAttention, cuDNN) for these shapes",
		[NSX_K_NORM] = "fuse it with its neighbours",
		[NSX_K_ELEMENTWISE] = "fuse it with its neighbours: it is "
				      "bound by memory traffic",
		[NSX_K_REDUCE] = "fuse it with what produces its input",
		[NSX_K_MOE] = "check the balance of tokens over experts; use "
			      "grouped GEMM",
		[NSX_K_MEMORY] = "avoid the copies or fills it makes: see to "
				 "layouts, and to what zeroes buffers",
	};
	const struct nsx_kernel_words *words = words_of(k, name);
	const char *full = nsx_text(k->d->trace, name);

	if (words->category == NSX_K_GEMM &&
	    (words->dtype == NSX_D_F16 || words->dtype == NSX_D_BF16))
		return nsx_tell(k->d->found,
				"check its shapes (dimensions that are "
				"multiples of 16): it multiplies in %s already",
				nsx_dtype_names[words->dtype]);
	if (strcasestr(full, "flash") || strcasestr(full, "fmha"))
		return advice_for_fused(k, full);
	return advice[words->category];
}

static bool is_identifier(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "0123456789_");

	return n && !s[n];
}

/* Nsight Compute goes by the function's own name, which a template that runs what it
 * is given shares with all of these: those are told by the name of that.
 */
static const char *profile_advice(const struct kernels *k,
				  const struct kernel *x, const char *what)
{
	enum { MOST = 48 }; /* bytes of a name: the line is read, too */
	const struct nsx_trace *t = k->d->trace;
	const char *family = words_of(k, x->id)->family, *filter;
	const char *base = nsx_text(t, nsx_op_shape(t, x->first)->base_name);

	if (is_identifier(family) && strcmp(family, base) &&
	    strstr(nsx_text(t, x->id), family))
		filter = nsx_tell(k->d->found, "--kernel-name-base demangled "
				  "-k regex:%s", family);
	else if (is_identifier(base))
		filter = nsx_tell(k->d->found, "-k %s%.*s", strlen(base) > MOST ?
				  "regex:" : "", MOST, base);
	else
		filter = "-k regex:NAME";
	return nsx_tell(k->d->found, "profile %s with ncu --set full %s -c 5: it "
			"tells whether memory, compute or latency binds %s",
			what, filter, what);
}

/* Where no kernel takes much, the family that does; families of a few hundred
 * kernels at most, the first in order of time.  False: none does.
 */
static bool propose_family(struct kernels *k)
{
	struct nsx_findings *l = k->d->found;
	size_t n = NSX_MIN(k->names.n, (size_t)MOST_NAMES), best_n = 0;
	const struct kernel *first = NULL;
	const char *best = NULL;
	int64_t best_ns = 0, best_count = 0;

	for (size_t i = 0; i < n; i++) {
		const char *family = words_of(k, k->names.v[i].id)->family;
		int64_t ns = 0, count = 0;
		size_t kin = 0;

		for (size_t j = i; j < n; j++) {
			if (strcmp(words_of(k, k->names.v[j].id)->family,
				   family))
				continue;
			nsx_add_to(&ns, k->names.v[j].ns);
			count += k->names.v[j].count;
			kin++;
		}
		if (ns > best_ns) {
			best = family;
			first = &k->names.v[i];
			best_ns = ns;
			best_count = count;
			best_n = kin;
		}
	}
	if (!first || time_of(k, best_ns) < KERNEL_SHARE * k->length_ns)
		return false;
	const char *name = nsx_tell_name(l, best);
	struct nsx_finding f = {
		.id = NSX_ID_top_kernel, .subject = best,
		.confidence = NSX_CONF_LOW, .device = k->d->facts->limiting,
		.is_assumed = true,
		.guess_ns = time_of(k, best_ns) * (1 - 1 / BETTER_CODE),
		.title = nsx_tell(l, "the kernels of %s take %s", name,
				  tell_share(k, best_ns)),
		.evidence = {
			nsx_tell(l, "%zu kernels of one family, %s in %lld "
				 "calls", best_n, nsx_tell_ns(l, best_ns),
				 (long long)best_count),
			ASSUMED_BETTER},
		.recommendation = {profile_advice(k, first, "them")},
		.proof = {{.csv = "kernel_families", .column = "total_time_ms",
			   .at = {{"family", nsx_string(best)}}}},
		.remedy = nsx_plan_of(k->d, (struct nsx_change){
			.verb = NSX_FASTER, .op = NSX_ON_KERNELS,
			.family = best, .amount = BETTER_CODE})};

	nsx_found(l, &f);
	return true;
}

/* NULL: the label is all of it, or it would fill a page. */
static const char *full_name(const struct kernels *k, nsx_str name)
{
	enum { LEGIBLE = 500 };
	struct nsx_findings *l = k->d->found;
	const char *full = nsx_text(k->d->trace, name);

	return strlen(full) <= LEGIBLE && strcmp(label_of(k, name), full) ?
		       nsx_tell(l, "in full: %s",
				nsx_text_whole_name(l->arena, full)) :
		       NULL;
}

/* One that another finding tells of already is not told again. */
static int propose_top(struct kernels *k, const struct kernel *top,
		       struct nsx_err *err)
{
	struct nsx_findings *l = k->d->found;
	const char *full = nsx_text(k->d->trace, top->id);
	const struct nsx_finding *um = unified_memory(l);
	const char *advice = advice_for(k, top->id);
	const char *name = nsx_tell_name(l, label_of(k, top->id));
	double share = time_of(k, top->ns) / k->length_ns;
	unsigned n = 0;
	struct nsx_finding f = {
		.id = NSX_ID_top_kernel, .subject = full,
		.confidence = NSX_CONF_LOW,
		.device = k->d->facts->limiting,
		.is_assumed = true, .weight = share,
		.guess_ns = time_of(k, top->ns) * (1 - 1 / BETTER_CODE),
		.proof = {{.csv = "critical_path", .column = "total_ms",
			   .at = {{"kind", nsx_string("kernel")},
				  {"name", nsx_string(full)}}}},
		.remedy = nsx_plan_of(k->d, (struct nsx_change){
			.verb = NSX_FASTER, .op = NSX_ON_KERNELS, .name = full,
			.amount = BETTER_CODE})};

	if (um && 3 * um->measured_ns >= (double)top->ns)
		return 0; /* it waits for its pages */
	if (share < KERNEL_SHARE) {
		if (propose_family(k))
			return 0;
		nsx_fine(l, "No kernel dominates: the first on GPU %lld, %s, "
			 "takes %s of the judged window", k->device_id, name,
			 nsx_text_share(l->arena, share, 1));
		return 0;
	}
	f.title = nsx_tell(l, "kernel %s takes %s", name,
			   tell_share(k, top->ns));
	f.evidence[0] = nsx_tell(l, "%s in %s%s", nsx_tell_ns(l, top->ns),
		nsx_text_n(l->arena, (size_t)top->count, "call", NULL),
		top->count == 1 ? "" :
		nsx_tell(l, ", %s a call", nsx_text_ns(l->arena,
				(double)top->ns / (double)top->count)));
	f.evidence[1] = ASSUMED_BETTER;
	if (tell_place(k, false, top, &f, err))
		return err->rc;
	nsx_add_evidence(&f, full_name(k, top->id));
	if (advice)
		f.recommendation[n++] = advice;
	f.recommendation[n] = profile_advice(k, top, "it");
	nsx_found(l, &f);
	return 0;
}

/* Families ------------------------------------------------------------------------*/

/* Matrix products that use no tensor core; a matrix times a vector is bound by
 * memory in any type.
 */
static bool is_f32_matrix(const struct nsx_kernel_words *x)
{
	return x->category == NSX_K_GEMM && x->dtype == NSX_D_F32 &&
	       !strstr(x->label, "gemv");
}

/* It only moves, converts or fills data, in order: where an index leads, that binds
 * it.
 */
static bool is_move(const struct nsx_kernel_words *x)
{
	static const char *const by_index[] = {"gather", "scatter", "embedding",
					       "index_", "indexing_", "Index"};

	if (x->category != NSX_K_MEMORY)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(by_index); i++)
		if (!strcmp(x->pattern, by_index[i]))
			return false;
	return true;
}

/* Bound by memory, and could be part of what produces or consumes its data. */
static bool is_fusible(const struct nsx_kernel_words *x)
{
	return x->category == NSX_K_ELEMENTWISE || is_move(x);
}

/* Peak of the tensor cores in the best type that replaces f32 over that of f32
 * without them, of dense products; 0: none, or not known.  Of GPUs known only to
 * be new enough the least.
 */
static double tensor_ratio(struct arch gpu)
{
	if (gpu.is_least && gpu.major)
		return 2;
	switch (gpu.major) {
	case 7:
		return 8; /* f16: V100, T4 */
	case 8:
		return gpu.minor ? 2 /* bf16: GA10x, AD10x */ :
				   8 /* TF32: A100 */;
	case 9:
	case 10:
		return 7; /* TF32: H100, B200 */
	default:
		return 0;
	}
}

typedef bool (*belongs_fn)(const struct nsx_kernel_words *);

struct kin { /* kernels of the limiting GPU that belong together */
	belongs_fn belongs;
	const struct kernel *first; /* the one that takes most              */
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

/* Their calls on all GPUs.  By rows, not by names: there may be as many names as
 * calls.
 */
static int faster_kin(struct kernels *k, const struct kin *kin, double amount,
		      struct nsx_plan *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = k->d->trace;
	uint8_t *fits = nsx_arena_try_array(k->d->scratch, t->nshapes, 1,
					    "kernels", err);
	uint32_t *rows = NULL;
	size_t n = 0;

	for (uint32_t i = 0; fits && i < t->nshapes; i++)
		fits[i] = has_name(k, t->shape_name[i]) &&
			  kin->belongs(words_of(k, t->shape_name[i]));
	for (int fill = 0; fits && fill < 2; fill++) {
		if (fill)
			nsx_new_array(rows, k->d->scratch, n, "kernels", err);
		if (fill && !rows)
			break;
		n = 0;
		for (size_t i = 0; i < t->ops.n; i++) {
			int64_t at_ns = nsx_op_start(&t->ops, i);

			if (t->ops.kind[i] != NSX_OP_KERNEL ||
			    !fits[nsx_op_detail(&t->ops, i)] ||
			    !nsx_is_judged(k->d, at_ns))
				continue;
			if (fill)
				rows[n] = (uint32_t)i;
			n++;
		}
	}
	if (!rows)
		return err->rc;
	*ret = nsx_plan_of(k->d, (struct nsx_change){
		.verb = NSX_FASTER, .op = NSX_ON_KERNELS, .amount = amount,
		.rows = nsx_keep_rows(k->d, rows, n)});
	nsx_arena_drop(k->d->scratch, rows);
	return 0;
}

/* Tensor cores before 8.0 take neither TF32 nor BF16. */
static const char *narrower_type(const struct kernels *k, struct arch gpu)
{
	if (gpu.major < 8)
		return k->d->is_pytorch ?
			"use FP16 (torch.autocast with dtype=torch.float16): "
			"this GPU has no TF32 and no BF16" :
			"use FP16 (CUBLAS_COMPUTE_32F_FAST_16F): this GPU has "
			"no TF32 and no BF16";
	return k->d->is_pytorch ?
		"allow TF32 (torch.set_float32_matmul_precision(\"high\")), or "
		"use BF16 (torch.autocast)" :
		"allow TF32 (CUBLAS_COMPUTE_32F_FAST_TF32, "
		"CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION), or use BF16 or FP16";
}

/* Who they are and where. */
static void tell_kin(struct kernels *k, const struct kin *kin,
		     struct nsx_finding *f)
{
	struct nsx_findings *l = k->d->found;

	f->evidence[0] = nsx_tell(
		l, "%s, %s, %s%s",
		nsx_text_n(l->arena, kin->n, "kernel", NULL),
		nsx_tell_ns(l, kin->ns), kin->n == 1 ? "" : "the first ",
		nsx_tell_name(l, label_of(k, kin->first->id)));
	f->proof[0] = (struct nsx_evidence){
		.csv = "critical_path", .column = "total_ms",
		.at = {{"kind", nsx_string("kernel")},
		       {"name", nsx_string(nsx_text(k->d->trace,
						    kin->first->id))}}};
}

/* Sets *told where the first kernel is among them. */
static int propose_f32(struct kernels *k, bool *told, struct nsx_err *err)
{
	struct arch gpu = arch_of(k);
	double ratio = tensor_ratio(gpu), amount = NSX_MAX(1.5, ratio / 2);
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
	f.is_setting = !unified_memory(l); /* else they wait for their pages */
	f.weight = f.is_setting ? share : 0;
	f.guess_ns = time_of(k, kin.ns) * (1 - 1 / amount);
	f.title = nsx_tell(l, "matrix products in f32 take %s and use no tensor "
			   "core", tell_share(k, kin.ns));
	tell_kin(k, &kin, &f);
	f.evidence[1] = nsx_tell(l, "taken as %.3g times as fast on tensor cores",
				 amount);
	f.evidence[2] = nsx_tell(
		l, "those of %s (%lld.%lld%s) have %s%.0f times the peak of f32 "
		"without them",
		gpu.is_least ? "a GPU that runs its kernels" : "this GPU",
		(long long)gpu.major, (long long)gpu.minor,
		gpu.is_least ? " or newer" : "", gpu.is_least ? "at least " : "",
		ratio);
	if (tell_place(k, false, kin.first, &f, err))
		return err->rc;
	f.recommendation[0] = narrower_type(k, gpu);
	nsx_found(l, &f);
	*told = kin.first == &k->names.v[0];
	return 0;
}

struct chain { /* kernels that follow one another directly on a stream */
	double threads; /* of each; 0: it is none                            */
	int64_t longest_ns, saved_ns;
	uint32_t n;
};

enum { AHEAD = 16 }; /* launch configurations lie far apart in memory */

/* How many times as long kernels take as if those of each chain were one that takes as
 * long as the longest of them.  As many threads speak for one tensor, which one kernel
 * passes on to the next: tensors that have nothing to do with each other differ in size,
 * but where very many come in a row.
 */
static int find_chains(struct kernels *k, belongs_fn belongs, double *ret,
		       struct nsx_err *err)
{
	const struct nsx_trace *t = k->d->trace;
	const struct nsx_device *dev = &t->device[k->d->facts->limiting];
	const size_t end = dev->ops_at + dev->nops;
	int64_t now_ns = 0, saved_ns = 0;
	struct chain *of_stream;

	if (!nsx_new_array(of_stream, k->d->scratch, t->nstreams, "streams", err))
		return err->rc;
	for (size_t i = dev->ops_at; i < end; i++) {
		struct chain *c = &of_stream[nsx_op_stream(&t->ops, i)];
		struct chain x = {.longest_ns = nsx_op_ns(&t->ops, i), .n = 1};
		const struct nsx_shape *s;

		if (i + AHEAD < end && t->ops.kind[i + AHEAD] == NSX_OP_KERNEL)
			__builtin_prefetch(nsx_op_shape(t, i + AHEAD));
		if (is_looked_at(k, i) &&
		    belongs(words_of(k, nsx_op_name(t, i)))) {
			nsx_add_to(&now_ns, x.longest_ns);
			s = nsx_op_shape(t, i);
			x.threads = s->launch->known ? (double)nsx_shape_blocks(s) *
					       (double)nsx_extent(s->launch->block) : 0;
		}
		if (x.threads > 0 && x.threads == c->threads) {
			x.n = c->n + (c->n <= MOST_FUSED);
			x.saved_ns = c->saved_ns +
				     NSX_MIN(x.longest_ns, c->longest_ns);
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

/* Sets *told where it is one kernel, and the first. */
static int propose_elementwise(struct kernels *k, bool *told, struct nsx_err *err)
{
	struct nsx_findings *l = k->d->found;
	struct nsx_finding f = {
		.id = NSX_ID_elementwise, .confidence = NSX_CONF_LOW,
		.device = k->d->facts->limiting, .is_assumed = true};
	struct kin kin = find_kin(k, is_fusible);
	struct kin moves = find_kin(k, is_move);
	double share = time_of(k, kin.ns) / k->length_ns, chains = 1, amount;

	if (share < FAMILY_SHARE)
		return 0;
	if (find_chains(k, is_fusible, &chains, err))
		return err->rc;
	amount = NSX_MAX(chains, FUSED);
	if (kin.n < 2 && chains < FUSED)
		return 0;
	if (faster_kin(k, &kin, amount, &f.remedy, err))
		return err->rc;
	f.guess_ns = time_of(k, kin.ns) * (1 - 1 / amount);
	f.title = nsx_tell(l, "kernels that %swork element by element take %s",
			   moves.n ? "move data or " : "",
			   tell_share(k, kin.ns));
	tell_kin(k, &kin, &f);
	f.is_bound = chains > FUSED;
	f.evidence[1] = f.is_bound ?
		"an upper bound: as if all that follow one another directly, "
		"with as many threads each, up to 64 of them, were one kernel "
		"that takes as long as the longest; whether one needs another's "
		"result is not in the trace" :
		nsx_tell(l, "priced as if fusion made them %.0f times as fast",
			 FUSED);
	if (moves.n)
		nsx_add_evidence(&f, nsx_tell(
			l, "%s of it only moves, converts or fills data",
			nsx_tell_ns(l, moves.ns)));
	if (tell_place(k, false, kin.first, &f, err))
		return err->rc;
	f.recommendation[0] = k->d->is_pytorch ?
		"fuse them: torch.compile, fused optimisers and norms; keep "
		"one type and one layout instead of casting back and forth" :
		"fuse them into what produces or consumes their data";
	nsx_found(l, &f);
	*told |= kin.n == 1 && kin.first == &k->names.v[0];
	return 0;
}

/* Small grids -----------------------------------------------------------------------*/

/* Of a shape on a GPU with so many multiprocessors; 0: not known. */
static double filled(const struct nsx_shape *s, double sm_count)
{
	return s->launch->known ? NSX_MIN((double)nsx_shape_blocks(s), sm_count) : 0;
}

/* Blocks of this kernel run for so long beside those of its shape. */
static void add_blocks(const struct nsx_trace *t, const struct table *shapes,
		       uint32_t shape, uint32_t beside, int64_t ns,
		       double sm_count, double *block_ns)
{
	uint32_t at = shapes->at[shape];

	if (at != NSX_NONE)
		block_ns[at - 1] +=
			(double)ns * filled(&t->shape[beside], sm_count);
}

/* Blocks of the kernels that run beside those of each shape, times how long: adds to
 * block_ns, which is in the order of the shapes.
 */
static void add_beside(const struct kernels *k, uint32_t device,
		       const struct table *shapes, double *block_ns)
{
	const struct nsx_trace *t = k->d->trace;
	const struct nsx_ops *o = &t->ops;
	const struct nsx_device *dev = &t->device[device];
	double sm_count = sm_count_of(t, device);
	uint32_t open[MOST_BESIDE]; /* still running where the next starts   */
	size_t n = 0;

	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		size_t left = 0;

		if (!is_looked_at(k, i))
			continue;
		for (size_t j = 0; j < n; j++) {
			uint32_t x = nsx_op_detail(o, i);
			uint32_t y = nsx_op_detail(o, open[j]);
			int64_t ns = NSX_MIN(nsx_op_end(o, i),
					     nsx_op_end(o, open[j])) -
				     nsx_op_start(o, i);

			if (ns <= 0)
				continue;
			add_blocks(t, shapes, x, y, ns, sm_count, block_ns);
			add_blocks(t, shapes, y, x, ns, sm_count, block_ns);
			open[left++] = open[j];
		}
		n = left;
		if (n < MOST_BESIDE)
			open[n++] = (uint32_t)i;
	}
}

/* Multiprocessors over blocks, its own and those beside it, as far as the kernel's
 * start leaves; 1: it is not small, or not known.
 */
static double fuller(const struct kernels *k, const struct kernel *x,
		     double block_ns)
{
	const struct nsx_trace *t = k->d->trace;
	double blocks = (double)nsx_shape_blocks(&t->shape[x->id]);

	if (x->ns / x->count < LONG_NS)
		return 1;
	return NSX_MAX(1, sm_count_of(t, device_of(k, x)) /
				  (blocks + block_ns / (double)x->ns));
}

/* How much faster a kernel would be if its last blocks left no multiprocessor
 * without work: turns that its blocks take over those that they would fill, by
 * multiprocessors (which share what they do among their blocks) or by all that are
 * resident at once, whichever is less; 1: all are, others are beside it, or not known.
 */
static double evener(const struct kernels *k, const struct kernel *x,
		     double block_ns)
{
	const struct nsx_trace *t = k->d->trace;
	const struct nsx_shape *s = &t->shape[x->id];
	const struct nsx_gpu_info *gpu = nsx_device_gpu(t, device_of(k, x));
	struct nsx_occupancy o;
	double sms, turns;

	if (block_ns > 0 || x->ns / x->count < LONG_NS ||
	    !nsx_shape_occupancy(gpu, s, &o) || !o.blocks)
		return 1;
	sms = (double)nsx_shape_blocks(s) / (double)gpu->sm_count;
	turns = sms / (double)o.blocks;
	return turns <= 1 ? 1 :
		NSX_MIN(ceil(turns) / turns, ceil(sms) / sms);
}

/* The ops of one shape on its device in the judged window. */
static int list_ops(struct kernels *k, const struct kernel *x,
		    struct nsx_change *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = k->d->trace;
	const struct nsx_device *dev = &t->device[device_of(k, x)];
	uint32_t *rows;
	size_t n = 0;

	if (!nsx_new_array(rows, k->d->scratch, (size_t)x->count, "kernels",
			   err))
		return err->rc;
	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++)
		if (t->ops.kind[i] == NSX_OP_KERNEL &&
		    nsx_op_detail(&t->ops, i) == x->id &&
		    nsx_is_judged(k->d, nsx_op_start(&t->ops, i)))
			rows[n++] = (uint32_t)i;
	ret->rows = nsx_keep_rows(k->d, rows, n);
	nsx_arena_drop(k->d->scratch, rows);
	return 0;
}

/* How the calls of a kernel share the GPU with each other: those of several
 * streams could run side by side, and so could those of one stream that do not need
 * each other's results, which no trace tells.
 */
static const char *say_streams(struct kernels *k, const struct nsx_change *c)
{
	const struct nsx_trace *t = k->d->trace;
	const struct nsx_ops *o = &t->ops;
	uint8_t *seen = nsx_arena_get(k->d->scratch,
				      (size_t)t->nstreams + 1);
	int64_t end_ns = INT64_MIN, beside_ns = 0;
	size_t n = c->rows.n, nstreams = 0, queued = 0;
	uint32_t before = NSX_NONE;

	NSX_EACH_ROW(&c->rows, op) {
		int64_t start_ns = nsx_op_start(o, op);
		uint32_t call = nsx_op_call(o, op);

		nstreams += !seen[nsx_op_stream(o, op)]++;
		seen[nsx_op_stream(o, op)] = 1;
		queued += before != NSX_NONE && op == before + 1 &&
			  call != NSX_NONE &&
			  nsx_call_end(&t->calls, call) <=
				  nsx_op_end(o, before);
		before = op;
		if (end_ns > start_ns)
			nsx_add_to(&beside_ns, NSX_MIN(end_ns,
						       nsx_op_end(o, op)) -
						       start_ns);
		end_ns = NSX_MAX(end_ns, nsx_op_end(o, op));
	}
	if (n < 2 || beside_ns)
		return NULL;
	if (nstreams > 1)
		return nsx_tell(k->d->found, "its calls are spread over %zu "
				"streams, yet they never run side by side",
				nstreams);
	return nsx_tell(
		k->d->found, "all its calls are on one stream, so they run one "
		"after the other%s; whether one needs another's result is not "
		"in the trace",
		2 * queued < n ? "" :
		nsx_tell(k->d->found, "; %zu of %zu stand right behind one of "
			 "the same size, as parts of a batch do", queued, n));
}

typedef double (*faster_fn)(const struct kernels *, const struct kernel *,
			    double block_ns);

struct grid {
	struct kernel shape;
	double block_ns; /* blocks of others beside it, times how long       */
};
struct grids { /* on all GPUs                                               */
	faster_fn faster;	      /* how much each could be              */
	struct grid top[MOST_SHAPES]; /* in order of time                    */
	struct nsx_change *v;
	size_t n;
	int64_t ns;
	double won_ns; /* at most                                            */
};

static void keep_grid(struct grids *s, const struct grid *x)
{
	size_t i = s->n;

	s->n = NSX_MIN(i + 1, (size_t)MOST_SHAPES);
	for (; i && cmp_kernels(&x->shape, &s->top[i - 1].shape) < 0; i--)
		if (i < s->n)
			s->top[i] = s->top[i - 1];
	if (i < s->n)
		s->top[i] = *x;
}

/* Those that could be LEAST_ROOM times as fast or more, in each of two ways. */
static int list_grids(struct kernels *k, struct grids grids[2],
		      struct nsx_err *err)
{
	for (uint32_t d = 0; d < k->d->trace->ndevices; d++) {
		struct table shapes = {0};
		double *block_ns;

		if (sum_device(k, d, true, &shapes, err) ||
		    !nsx_new_array(block_ns, k->d->scratch, shapes.n, "kernels",
				   err))
			return err->rc;
		add_beside(k, d, &shapes, block_ns);
		for (size_t i = 0; i < shapes.n; i++)
			for (unsigned w = 0; w < 2; w++)
				if (grids[w].faster(k, &shapes.v[i],
						    block_ns[i]) >= LEAST_ROOM)
					keep_grid(&grids[w], &(struct grid){
						shapes.v[i], block_ns[i]});
		nsx_arena_drop(k->d->scratch, block_ns);
		nsx_arena_drop(k->d->scratch, shapes.v);
		nsx_arena_drop(k->d->scratch, shapes.at);
	}
	return 0;
}

/* Sets *is_told where they take such a share of the window that it is. */
static int price_grids(struct kernels *k, double share, struct grids *ret,
		       bool *is_told, struct nsx_err *err)
{
	for (size_t i = 0; i < ret->n; i++)
		nsx_add_to(&ret->ns, ret->top[i].shape.ns);
	*is_told = ret->n && (double)ret->ns >= share * k->length_ns;
	if (!*is_told)
		return 0;
	ret->v = nsx_arena_get(k->d->found->arena, ret->n * sizeof(*ret->v));
	for (size_t i = 0; i < ret->n; i++) {
		const struct kernel *x = &ret->top[i].shape;
		double amount = ret->faster(k, x, ret->top[i].block_ns);

		ret->won_ns += (double)x->ns * (1 - 1 / amount);
		ret->v[i] = (struct nsx_change){.verb = NSX_FASTER,
						.op = NSX_ON_KERNELS,
						.amount = amount};
		if (list_ops(k, x, &ret->v[i], err))
			return err->rc;
	}
	return 0;
}

/* Sets *told where the kernel that takes most is the first among them. */
static int propose_small(struct kernels *k, struct grids *small, bool *told,
			 struct nsx_err *err)
{
	const struct nsx_trace *t = k->d->trace;
	struct nsx_findings *l = k->d->found;
	static const char bound[] = "an upper bound: as if each filled all "
				    "multiprocessors and were faster by as much";
	const struct kernel *top = &small->top[0].shape;
	nsx_str name;
	const char *streams, *most;
	uint32_t device;
	bool is_told;
	int rc = price_grids(k, GRID_SHARE, small, &is_told, err);

	if (rc || !is_told)
		return rc;
	device = device_of(k, top);
	streams = say_streams(k, &small->v[0]);
	name = t->shape_name[top->id];
	most = nsx_tell(l, "%s on %lld multiprocessors, %s of %s",
			nsx_text_n(l->arena,
				   (size_t)nsx_shape_blocks(&t->shape[top->id]),
				   "block", NULL),
			(long long)nsx_device_gpu(t, device)->sm_count,
			nsx_text_n(l->arena, (size_t)top->count, "call", NULL),
			nsx_text_ns(l->arena, (double)top->ns /
						      (double)top->count));
	struct nsx_finding f = {
		.id = NSX_ID_small_grids,
		.title = nsx_tell(l, "kernels with few blocks leave most of "
				  "the GPU empty: %s",
				  nsx_tell_name(l, label_of(k, name))),
		.confidence = NSX_CONF_MEDIUM, .device = device,
		.guess_ns = small->won_ns,
		.is_rule = true, .is_bound = true,
		.weight = (double)top->ns / k->length_ns,
		.evidence = {small->n == 1 ? most :
			nsx_tell(l, "%zu launch shapes, %s in all", small->n,
				 nsx_tell_ns(l, small->ns))},
		.recommendation = {
			"give each launch more work: larger batches, fused or "
			"batched kernels, a split of the reduced dimension",
			"or run those that do not need each other's results "
			"side by side on several streams"},
		.proof = {{.csv = "kernel_shapes", .column = "total_ms",
			   .at = {{"kernel_name",
				   nsx_string(nsx_text(t, name))},
				  {"is_small_grid", nsx_bool(true)}}}},
		.remedy = {small->v, small->n}};

	if (small->n > 1)
		nsx_add_evidence(&f, nsx_tell(l, "the first: %s", most));
	nsx_add_evidence(&f, streams);
	nsx_add_evidence(&f, bound);
	if (tell_place(k, true, top, &f, err))
		return err->rc;
	nsx_add_evidence(&f, full_name(k, name));
	nsx_found(l, &f);
	*told |= name == k->names.v[0].id;
	return 0;
}

/* Grids of a little more than what the GPU has room for, once or a few times.  Sets
 * *told as propose_small does.
 */
static int propose_last_blocks(struct kernels *k, struct grids *uneven, bool *told,
			       struct nsx_err *err)
{
	const struct nsx_trace *t = k->d->trace;
	struct nsx_findings *l = k->d->found;
	const struct kernel *top = &uneven->top[0].shape;
	const struct nsx_gpu_info *gpu;
	const struct nsx_shape *s;
	nsx_str name;
	struct nsx_occupancy o;
	uint32_t device;
	bool is_told;
	int rc = price_grids(k, KERNEL_SHARE, uneven, &is_told, err);

	if (rc || !is_told)
		return rc;
	device = device_of(k, top);
	gpu = nsx_device_gpu(t, device);
	s = &t->shape[top->id];
	name = t->shape_name[top->id];
	nsx_shape_occupancy(gpu, s, &o);
	struct nsx_finding f = {
		.id = NSX_ID_last_blocks, .confidence = NSX_CONF_LOW,
		.device = device, .is_assumed = true,
		.guess_ns = uneven->won_ns,
		.weight = (double)top->ns / k->length_ns,
		.title = nsx_tell(l, "the last blocks of kernels leave most of "
				  "the GPU empty: %s",
				  nsx_tell_name(l, label_of(k, name))),
		.evidence = {
			nsx_tell(l, "%s on %lld multiprocessors, which hold "
				 "%lld each, %s of %s",
				 nsx_text_n(l->arena, (size_t)nsx_shape_blocks(s),
					    "block", NULL),
				 (long long)gpu->sm_count,
				 (long long)o.blocks,
				 nsx_text_n(l->arena, (size_t)top->count,
					    "call", NULL),
				 nsx_text_ns(l->arena, (double)top->ns /
							       (double)top->count)),
			"priced as if all blocks took as long, and the same work "
			"filled the GPU until the end"},
		.recommendation = {
			"choose tiles or a batch so that the blocks come to just "
			"below a multiple of what the GPU holds",
			"share the rest out evenly: smaller blocks, split-K or a "
			"persistent kernel"},
		.proof = {{.csv = "kernel_shapes", .column = "waves",
			   .at = {{"kernel_name",
				   nsx_string(nsx_text(t, name))},
				  {"grid_blocks", nsx_int(nsx_shape_blocks(s))}}}},
		.remedy = {uneven->v, uneven->n}};

	if (uneven->n > 1)
		nsx_add_evidence(&f, nsx_tell(l, "%zu launch shapes, %s in all",
					      uneven->n,
					      nsx_tell_ns(l, uneven->ns)));
	if (tell_place(k, true, top, &f, err))
		return err->rc;
	nsx_found(l, &f);
	*told |= name == k->names.v[0].id;
	return 0;
}

/* Grids that leave multiprocessors without work. */
static int propose_grids(struct kernels *k, bool *told, struct nsx_err *err)
{
	struct grids grids[2] = {{.faster = fuller}, {.faster = evener}};

	return list_grids(k, grids, err) ?:
	       propose_small(k, &grids[0], told, err) ?:
	       propose_last_blocks(k, &grids[1], told, err);
}

int nsx_detect_kernels(struct nsx_detect *d, struct nsx_err *err)
{
	struct kernels k = {
		.d = d, .length_ns = (double)(d->w.end_ns - d->w.start_ns)};
	double kernels_ns = 0;
	bool told = false;
	int rc;

	if (d->facts->limiting == NSX_NONE)
		return 0;
	k.device_id = (long long)d->trace->device[d->facts->limiting].device_id;
	rc = sum_names(&k, err);
	if (rc || !k.names.n)
		return rc;
	for (size_t i = 0; i < k.names.n; i++)
		kernels_ns += (double)k.names.v[i].ns;
	k.beside = NSX_MAX(1, kernels_ns / k.length_ns);
	sort_first(&k.names);
	if (propose_f32(&k, &told, err) || propose_grids(&k, &told, err) ||
	    propose_elementwise(&k, &told, err))
		return err->rc;
	return told ? 0 : propose_top(&k, &k.names.v[0], err);
}
