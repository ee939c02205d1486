/* nvtx.c - finds iterations by the program's own ranges: a range that recurs on one thread without
 * overlapping itself.
 *
 * Coverage is the share of the process's GPU time that any of its threads launched while such a
 * range was open. All threads count because the backward pass of a training step often has its own
 * thread. Work before the first range, such as loading a model, is left out, unless it is most of
 * the compute. Ranges whose names differ only in a number ("step 12") count as one range, and so do
 * all steps of an engine, whatever they decode. Ranges of libraries (NCCL, cuBLAS) are ignored.
 */
#include "facts/iterations/iterations.h"
#include "base/stat.h"
#include "facts/steps/steps.h"

#define MIN_LISTED 0.1 /* a way with a lower score is not listed */
#define WHOLE 0.95 /* ranges with this coverage contain all work            */
#define NAMED 0.8 /* least regularity of ranges that contain all work and are named as steps */

/* Launches of a process, sorted by call time, with a sentinel at the end. */
struct launch {
	int64_t at_ns;
	int64_t gpu_ns, compute_ns; /* its work; in the finished list, sums over earlier launches */
};
struct launches {
	struct launch *v;
	size_t n;
};
struct group { /* ranges of one name, thread and kind */
	nsx_str name;
	uint32_t n;
	size_t at;	/* where its marks begin */
	int64_t end_ns; /* end of its last range so far */
	bool overlaps;	/* some of its ranges overlap */
};

struct nvtx_finder {
	struct nsx_finder *fd;
	nsx_str *masked;   /* by name: the name without its number, or "vLLM step" */
	bool *is_engine;   /* for each name: whether it is that of an engine's step        */
	uint32_t *slot;	   /* for each name: index of group + 1                    */
	struct launches launches; /* launches of the current process */
	struct group *groups;
	size_t ngroups, cap;
	struct nsx_arena *a; /* for the current process                      */
};

/* Names -----------------------------------------------------------------------*/

/* Turns "step 12" and "step 13" into "step #", and names of an engine's steps into "vLLM step". */
static int mask_name(struct nvtx_finder *nf, nsx_str name, struct nsx_err *err)
{
	const char *text = nsx_text(nf->fd->t, name);
	struct nsx_step_name step;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	int rc = 0;

	nf->masked[name] = name;
	nf->is_engine[name] = nsx_step_name(nf->fd->t->steps_from, text, &step) &&
			      step.kind != NSX_STEP_TRAINING;
	if (nf->is_engine[name])
		nsx_buf_printf(&b, "%s step", step.engine);
	if (nf->is_engine[name] || nsx_buf_add_masked(&b, text))
		rc = nsx_strings_add(nf->fd->f->strings, b.p, b.n, &nf->masked[name], err);
	return rc;
}

static int mask_names(struct nvtx_finder *nf, struct nsx_err *err)
{
	const struct nsx_nvtx *x = &nf->fd->t->nvtx;
	size_t bound = nsx_strings_bound(nf->fd->t->strings);

	if (nsx_new_arrays(nf->fd->a, bound, "range names", err, nf->masked, nf->is_engine))
		return err->rc;
	for (size_t i = 0; i < x->n; i++)
		if (!nf->masked[x->name[i]] && mask_name(nf, x->name[i], err))
			return err->rc;
	return nsx_new_arrays(nf->fd->a, nsx_strings_bound(nf->fd->f->strings),
			      "range names", err, nf->slot);
}

/* Whether a name contains a word that programs use for iterations. */
static bool is_step_name(const char *s)
{
	static const char *const words[] = {"step", "iter", "batch", "epoch"};

	return NSX_ANY(i, ARRAY_LEN(words), strcasestr(s, words[i]));
}

/* Launched work ------------------------------------------------------------------ */

NSX_ORDER(cmp_launch, struct launch, UP(at_ns));

/* The sums over the launches before a time. *from: a lower bound of the result's index, usually
 * close; it is moved.
 */
static struct launch *launch_sums_before(const struct launches *l, size_t *from, int64_t at)
{
	size_t lo = *from, hi = lo, step = 1;

	while (hi < l->n && l->v[hi].at_ns < at) {
		lo = hi + 1;
		hi = NSX_MIN(hi + step, l->n);
		step *= 2;
	}
	NSX_BISECT(lo, hi, mid, l->v[mid].at_ns < at);
	*from = lo;
	return &l->v[lo];
}

/* Lists the launches of a process with the threads [from, to). */
static int list_launches(struct nvtx_finder *nf, uint32_t from, uint32_t to, struct nsx_err *err)
{
	const struct nsx_finder *fd = nf->fd;
	const struct nsx_trace *t = fd->t;
	struct launches *l = &nf->launches;
	uint32_t p = t->thread[from].process, first = t->thread[from].calls_at;
	uint32_t end = t->thread[to - 1].calls_at + t->thread[to - 1].ncalls;
	struct launch sum = {0};
	size_t n = 0, at = 0;

	for (uint32_t i = first; i < end; i++)
		n += nsx_call_op(&t->calls, i) != NSX_NONE;
	l->n = 0;
	if (!nsx_new_array(l->v, nf->a, n + 1, "launches", err))
		return err->rc;
	for (uint32_t i = first; i < end; i++)
		if (nsx_call_op(&t->calls, i) != NSX_NONE)
			l->v[l->n++].at_ns = nsx_call_start(&t->calls, i);
	nsx_sort(l->v, l->n, sizeof(*l->v), cmp_launch);
	for (size_t k = fd->ops_at[p]; k < fd->ops_at[p + 1]; k++) {
		uint32_t op = fd->ops[k], call = nsx_op_call(&t->ops, op);
		struct launch *x;

		if (call == NSX_NONE)
			continue;
		if (at && l->v[at - 1].at_ns >= nsx_call_start(&t->calls, call))
			at = 0; /* the call is of another stream: search from the start */
		x = launch_sums_before(l, &at, nsx_call_start(&t->calls, call));
		nsx_add_to(&x->gpu_ns, nsx_work_ns(fd, op));
		if (t->ops.cls[op] == NSX_C_COMPUTE)
			nsx_add_to(&x->compute_ns, nsx_work_ns(fd, op));
	}
	for (size_t i = 0; i <= l->n; i++) {
		struct launch x = l->v[i];

		l->v[i].gpu_ns = sum.gpu_ns;
		l->v[i].compute_ns = sum.compute_ns;
		nsx_add_to(&sum.gpu_ns, x.gpu_ns);
		nsx_add_to(&sum.compute_ns, x.compute_ns);
	}
	return 0;
}

/* Ranges ------------------------------------------------------------------------*/

static bool is_user_range(const struct nsx_trace *t, size_t i)
{
	return t->nvtx.kind[i] != NSX_NVTX_MARK &&
	       !t->domain[nsx_range_domain(&t->nvtx, i)].is_library;
}

/* Counts n ranges under a name. */
static int count_name(struct nvtx_finder *nf, nsx_str name, uint32_t n, struct nsx_err *err)
{
	uint32_t *slot = &nf->slot[name];

	if (!*slot) {
		if (nsx_push(nf->groups, nf->ngroups, nf->cap, "range names",
			     err, (struct group){.name = name}))
			return err->rc;
		*slot = (uint32_t)nf->ngroups;
	}
	nf->groups[*slot - 1].n += n;
	return 0;
}

/* Counts the ranges [from, to), which are of one kind, by their full names. Ranges whose full name
 * is unique, and steps of engines, are then counted by the name without its number.
 */
static int count_names(struct nvtx_finder *nf, size_t from, size_t to, struct nsx_err *err)
{
	const struct nsx_trace *t = nf->fd->t;
	size_t nfull;

	nf->ngroups = 0;
	for (size_t i = from; i < to; i++)
		if (is_user_range(t, i) && count_name(nf, t->nvtx.name[i], 1, err))
			return err->rc;
	nfull = nf->ngroups;
	for (size_t g = 0; g < nfull; g++) {
		nsx_str name = nf->groups[g].name, masked = nf->masked[name];

		if ((nf->groups[g].n > 1 && !nf->is_engine[name]) || masked == name)
			continue;
		if (count_name(nf, masked, nf->groups[g].n, err))
			return err->rc;
		nf->groups[g].n = 0;
		nf->slot[name] = nf->slot[masked];
	}
	return 0;
}

static int propose_way_of_ranges(struct nvtx_finder *nf, uint32_t process,
				 const struct group *g, struct nsx_span *marks, struct nsx_err *err)
{
	const struct launches *l = &nf->launches;
	struct nsx_way w = {.method = NSX_WAY_NVTX, .process = process,
			    .name = g->name, .marks = marks, .n = g->n};
	double trust = is_step_name(nsx_fact_text(nf->fd->f, g->name)) ? 1.1 : 1;
	const struct launch *first, *all = &l->v[l->n];
	int64_t covered = 0, whole = all->gpu_ns;
	size_t at = 0;

	/* Ways that cannot win are not measured further. */
	if (nsx_measure_way(&w, err))
		return err->rc;
	if (trust == 1 && !(w.regularity >= MIN_LISTED))
		return 0;
	first = launch_sums_before(l, &at, marks->start_ns);
	if (first->compute_ns <= all->compute_ns / 2)
		whole -= first->gpu_ns;
	for (size_t i = 0; i < w.n; i++) {
		int64_t before = launch_sums_before(l, &at, marks[i].start_ns)->gpu_ns;

		covered += launch_sums_before(l, &at, marks[i].end_ns)->gpu_ns - before;
	}
	w.coverage = whole ? (double)covered / (double)whole : 0;
	/* Ranges that are named as steps and contain all work are the steps, even if uneven:
	 * steps with a checkpoint in every tenth must be found.
	 */
	if (trust > 1 && w.coverage >= WHOLE)
		w.regularity = NSX_MAX(w.regularity, NAMED * NSX_MIN(1, (double)w.n / 8));
	return w.coverage * w.regularity < MIN_LISTED ? 0 : nsx_keep_way(nf->fd, &w, trust, 2, err);
}

/* Proposes ways from the ranges [from, to) of one thread and kind, which are sorted by start. */
static int find_recurring_ranges(struct nvtx_finder *nf, uint32_t process, size_t from,
				 size_t to, struct nsx_err *err)
{
	const struct nsx_nvtx *x = &nf->fd->t->nvtx;
	struct nsx_span *marks;
	size_t n = 0, kept = nf->fd->n;

	if (count_names(nf, from, to, err))
		return err->rc;
	for (size_t g = 0; g < nf->ngroups; g++) {
		nf->groups[g].at = n;
		nf->groups[g].end_ns = INT64_MIN;
		n += nf->groups[g].n;
		nf->groups[g].n = 0;
	}
	if (!nsx_new_array(marks, nf->fd->a, n, "range instances", err))
		return err->rc;
	for (size_t i = from; i < to; i++) {
		struct group *g;

		if (!is_user_range(nf->fd->t, i))
			continue;
		g = &nf->groups[nf->slot[x->name[i]] - 1];
		if (nf->is_engine[x->name[i]] && nsx_range_end(x, i) <= g->end_ns)
			continue; /* part of the step around it              */
		g->overlaps |= nsx_range_start(x, i) < g->end_ns;
		g->end_ns = nsx_range_end(x, i);
		marks[g->at + g->n++] = (struct nsx_span){nsx_range_start(x, i),
							  nsx_range_end(x, i)};
	}
	for (size_t i = from; i < to; i++)
		nf->slot[x->name[i]] = nf->slot[nf->masked[x->name[i]]] = 0;
	for (size_t g = 0; g < nf->ngroups; g++)
		if (!nf->groups[g].overlaps && nf->groups[g].n >= 4 &&
		    propose_way_of_ranges(nf, process, &nf->groups[g], marks + nf->groups[g].at,
					  err))
			return err->rc;
	if (nf->fd->n == kept)
		nsx_arena_drop(nf->fd->a, marks);
	return 0;
}

static int find_on_thread(struct nvtx_finder *nf, const struct nsx_thread *th, struct nsx_err *err)
{
	const uint8_t *kind = nf->fd->t->nvtx.kind;
	size_t at = th->nvtx_at;

	NSX_EACH_RUN(i, next, th->nnvtx, kind[at + next] == kind[at + i])
		if (next - i >= 4 &&
		    find_recurring_ranges(nf, th->process, at + i, at + next, err))
			return err->rc;
	return 0;
}

int nsx_find_nvtx(struct nsx_finder *fd, struct nsx_err *err)
{
	const struct nsx_trace *t = fd->t;
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct nvtx_finder nf = {.fd = fd, .a = a};
	int rc;

	if (!t->nvtx.n || !t->ops.n || !t->calls.n)
		return 0;
	rc = mask_names(&nf, err);
	NSX_EACH_RUN(h, next, t->nthreads, t->thread[next].process == t->thread[h].process) {
		if (rc || !fd->gpu_ns[t->thread[h].process])
			continue;
		nsx_arena_clear(a);
		rc = list_launches(&nf, (uint32_t)h, (uint32_t)next, err);
		for (size_t k = h; !rc && k < next; k++)
			rc = find_on_thread(&nf, &t->thread[k], err);
	}
	free(nf.groups);
	return rc;
}
