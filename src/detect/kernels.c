/* kernels.c - kernels that could be faster: here the one with most time, in kernel_kin.c matrix
 * products in f32 and elementwise work, in kernel_grids.c launches that leave most of the GPU
 * empty.
 *
 * A kernel has a share of the time but no price if nothing shows how fast it could be.
 */
#include "detect/kernels.h"
#include "detect/verdict.h"
#include "detect/words.h"
#include "facts/floor.h"
#include "facts/metrics/metrics.h"
#include "report/text.h"

#define LONG_CALL 0.25	  /* one launch is a whole program from this share of the window */
/* share of kernel time from which device-wide counters describe one kernel */
#define MOST_COMPUTED 0.8
enum { FEWEST_SAMPLES = 10 };

const char *kernels_tell_share(const struct kernels *k, int64_t ns)
{
	return nsx_tell(k->d->found, "%s of GPU %s's %s",
			nsx_text_share(k->d->found->arena, time_of(k, ns), k->length_ns),
			k->gpu, k->beside > 1 ? "kernel time" : "time");
}

static uint32_t id_of(const struct kernels *k, bool by_shape, size_t op)
{
	return by_shape ? nsx_op_detail(&k->d->trace->ops, op) : nsx_op_name(k->d->trace, op);
}

static bool leaves_room(const struct nsx_trace *t, uint32_t device, const struct nsx_shape *s)
{
	return nsx_launch_room(t, device, s, 0).idle >= LEAST_ROOM;
}

int kernels_sum(struct kernels *k, uint32_t device, bool by_shape,
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
		if (by_shape && !*at && (nsx_stream_of(t, i)->is_green ||
					 !leaves_room(t, device, &t->shape[shape])))
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
	}
	return 0;
}

static int64_t longest_first(const void *x, void *context NSX_UNUSED)
{
	return -((const struct kernel *)x)->ns;
}

static int cmp_names(const void *x, const void *y, void *context NSX_UNUSED)
{
	return cmp_kernels(x, y);
}

int kernels_tell_place(struct kernels *k, bool by_shape, const struct kernel *x,
		      struct nsx_finding *f, struct nsx_err *err)
{
	struct nsx_places *places = nsx_new_places(k->d);

	NSX_EACH_JUDGED(k->d, device_of(k, x), i)
		if (is_looked_at(k, i) && id_of(k, by_shape, i) == x->id &&
		    nsx_places_add_op(places, 0, i, nsx_op_ns(&k->d->trace->ops, i), err))
			return err->rc;
	nsx_places_tell(places, 0, f);
	return 0;
}

/* The kernel with most time ------------------------------------------------------ */

struct arch kernels_arch(const struct kernels *k)
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

static const char *advice_for_fused(const struct kernels *k, const char *full)
{
	struct arch gpu = kernels_arch(k);

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
	if (words->category == NSX_K_MEMORY && kernels_by_index(words))
		return say_sort_or_group_indices_so;
	if (kernels_fused_by(words) && words->category != NSX_K_GEMM)
		return nsx_tell(k->d->found, say_fused_already_bound_by, kernels_fused_by(words));
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
		return time_of(k, ns) > LONG_CALL * (double)count * k->length_ns ?
			       say_what_happens_inside :
			       say_how_fast_could_be_not;
	return nsx_tell(k->d->found, say_while_kernels_compute_dram,
		nsx_dram_mean(&c, NSX_SCOPE_COMPUTE),
		nsx_counter_mean(&c, NSX_SM_ISSUE, NSX_SCOPE_COMPUTE),
		bound == NSX_BOUND_MEMORY  ? say_memory_what_limits :
		bound == NSX_BOUND_COMPUTE ? say_arithmetic_what_limits :
					     say_neither_near_limit);
}

/* Proposes the family with most time if no single kernel takes much, searching the few hundred
 * kernels with most time. Returns false if there is none.
 */
static bool propose_family(struct kernels *k)
{
	struct nsx_findings *l = k->d->found;
	size_t n = NSX_MIN(k->names.n, (size_t)MOST_NAMES), nkin = 0;
	struct kernel best = {.ns = 0};
	const char *family;

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
			nkin = kin;
		}
	}
	if (!best.ns || time_of(k, best.ns) < KERNEL_SHARE * k->length_ns)
		return false;
	family = words_of(k, best.id)->family;
	nsx_found(l, &(struct nsx_finding){.id = NSX_ID_top_kernel,
		.subject = family, .confidence = NSX_CONF_LOW, .device = k->d->facts->limiting,
		.title = nsx_tell(l, say_kernels_take, nsx_tell_name(l, family),
			kernels_tell_share(k, best.ns)),
		.evidence = {nsx_tell(l, say_kernels_one_family_calls, nkin,
				     nsx_tell_ns(l, best.ns), (long long)best.count),
			say_bound(k, best.ns, best.count)},
		.recommendation = {profile_advice(k, &best, "them")},
		.proof = {{.csv = "kernel_families", .column = "total_time_ms",
			.at = {{"family", nsx_string(family)}}}}});
	return true;
}

const char *kernels_full_name(const struct kernels *k, nsx_str name)
{
	enum { LEGIBLE = 500 };
	struct nsx_findings *l = k->d->found;
	const char *full = nsx_text(k->d->trace, name);

	return strlen(full) <= LEGIBLE && strcmp(label_of(k, name), full) ?
		       nsx_tell(l, "in full: %s",
				nsx_text_whole_name(l->arena, full)) :
		       NULL;
}

/* Proposes the kernel with most time, unless another finding covers it. */
static int propose_top(struct kernels *k, const struct kernel *top, struct nsx_err *err)
{
	struct nsx_findings *l = k->d->found;
	const char *full = nsx_text(k->d->trace, top->id);
	const struct nsx_finding *um = nsx_find_finding(l, NSX_ID_unified_memory);
	const char *advice = advice_for(k, top->id);
	const char *name = nsx_tell_name(l, label_of(k, top->id));
	double share = time_of(k, top->ns) / k->length_ns;
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
	if (share < KERNEL_SHARE) {
		if (propose_family(k) || nsx_graphs_hide(&k->d->facts->graphs))
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
	if (kernels_tell_place(k, false, top, &f, err))
		return err->rc;
	nsx_add_evidence(&f, kernels_full_name(k, top->id));
	if (advice)
		f.recommendation[n++] = advice;
	f.recommendation[n] = profile_advice(k, top, "it");
	nsx_found(l, &f);
	return 0;
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
			  cmp_names, NULL);
	if (kernels_propose_f32(&k, &told, err) || kernels_propose_grids(&k, &told, err) ||
	    kernels_propose_elementwise(&k, &told, err))
		return err->rc;
	return told ? 0 : propose_top(&k, &k.names.v[0], err);
}
