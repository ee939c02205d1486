/* nvtx.c - finds the range in which each operation was launched, and the nesting of ranges.
 *
 * Calls and push/pop ranges of a thread are both sorted by start. One sweep for each thread finds
 * the innermost range at each call; it is the range of the operations that the call launches. A
 * sweep over each domain finds the nesting of its ranges. Start/end ranges have no stack, so no
 * operation belongs to them.
 */
#include "facts/facts.h"
#include "trace/nvtx_walk.h"
#include "base/par.h"
#include "base/stat.h"

/* Stacks: parent and nested ------------------------------------------------*/

struct latest { /* for each name: the outermost open range with that name on a stack */
	uint32_t range, stack;
};

static void sweep_range_stacks(const struct nsx_trace *t, const uint32_t *order,
			       size_t n, struct latest *latest, uint32_t *parent, uint8_t *nested)
{
	const struct nsx_nvtx *x = &t->nvtx;
	uint32_t stack = 0, top = NSX_NONE;

	for (size_t k = 0; k < n; k++) {
		uint32_t i = order[k], before = k ? order[k - 1] : i;
		struct latest *l = &latest[nsx_range_label(t, x->name[i])];

		if (!k || nsx_range_domain(x, i) != nsx_range_domain(x, before) ||
		    nsx_nvtx_thread(t, i) != nsx_nvtx_thread(t, before)) {
			stack++;
			top = NSX_NONE;
		}
		while (top != NSX_NONE && !nsx_nvtx_is_open(x, top, nsx_range_start(x, i)))
			top = parent[top];
		parent[i] = top;
		top = i;
		if (l->stack == stack && nsx_nvtx_is_open(x, l->range, nsx_range_start(x, i)))
			nested[i] = 1;
		else
			*l = (struct latest){i, stack};
	}
}

static int find_nesting(const struct nsx_trace *t, uint32_t *parent, uint8_t *nested,
			struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	const struct nsx_nvtx *x = &t->nvtx;
	uint32_t *at, *order; /* push/pop ranges sorted by domain, and where each domain begins */
	struct latest *latest;

	nsx_few(at, a, t->ndomains + 2);
	if (nsx_new_arrays(a, x->n, "range order", err, order) ||
	    nsx_new_arrays(a, nsx_strings_bound(t->strings), "range names", err, latest))
		return err->rc;
	NSX_DEAL(at, order, t->ndomains, x->n, i,
		 x->kind[i] == NSX_NVTX_STACK ? nsx_range_domain(x, i) : NSX_NONE);
	sweep_range_stacks(t, order, at[t->ndomains], latest, parent, nested);
	return 0;
}

/* Attribution --------------------------------------------------------------*/

struct job {
	const struct nsx_trace *t;
	const uint8_t *nested;
	uint32_t *around, *call_range, *op_range; /* one for each range, call and op */
};

static int find_ranges_of_calls(void *ctx, size_t i, struct nsx_err *err)
{
	struct job *job = ctx;
	const struct nsx_trace *t = job->t;
	const struct nsx_thread *th = &t->thread[i];
	uint32_t *around = job->around;
	struct nsx_nvtx_walk user, library;

	nsx_nvtx_walk_begin(&user, t, (uint32_t)i, true, false, around);
	nsx_nvtx_walk_begin(&library, t, (uint32_t)i, false, true, around);
	for (uint32_t c = th->calls_at; c < th->calls_at + th->ncalls; c++) {
		uint32_t u = nsx_nvtx_walk_to(&user, nsx_call_start(&t->calls, c));
		uint32_t l = nsx_nvtx_walk_to(&library, nsx_call_start(&t->calls, c));

		job->call_range[c] = u != NSX_NONE ? u : l;
	}
	nsx_nvtx_walk_to(&user, INT64_MAX);
	nsx_nvtx_walk_to(&library, INT64_MAX);
	for (uint32_t r = th->nvtx_at; r < th->nvtx_at + th->nnvtx; r++)
		if (around[r] != NSX_NONE && job->nested[around[r]])
			around[r] = around[around[r]];
	return nsx_stopped(err);
}

static int nvtx_sweep_device(void *ctx, size_t i, struct nsx_err *err)
{
	struct job *job = ctx;
	const struct nsx_ops *o = &job->t->ops;
	const struct nsx_device *d = &job->t->device[i];

	for (size_t k = d->ops_at; k < d->ops_at + d->nops; k++) {
		uint32_t call = nsx_op_call(o, k);

		job->op_range[k] = call == NSX_NONE ? NSX_NONE : job->call_range[call];
	}
	return nsx_stopped(err);
}

static void nvtx_add_kernel(struct nsx_coverage *c, bool counts, bool has_call,
			    bool is_mapped, int64_t ns)
{
	nsx_add_to(&c->kernel_ns, ns);
	c->nkernels += counts;
	c->nmapped += is_mapped && counts;
	nsx_add_to(is_mapped ? &c->mapped_ns : has_call  ? &c->no_range_ns : &c->no_call_ns, ns);
}

static int sum_coverage(struct nsx_facts *f, const struct nsx_trace *t, struct nsx_err *err)
{
	const struct nsx_ops *o = &t->ops;

	nsx_few(f->coverage, f->arena, (size_t)t->nprocesses + 1);
	for (size_t i = 0; i < o->n; i++) {
		uint32_t p = nsx_op_process(t, i);
		bool counts = nsx_op_counts(t, i);
		bool has_call = nsx_op_call(o, i) != NSX_NONE;
		bool is_mapped = nsx_op_range(&f->nvtx, i) != NSX_NONE;

		if (o->kind[i] != NSX_OP_KERNEL)
			continue;
		nvtx_add_kernel(&f->coverage[t->nprocesses], counts, has_call,
				is_mapped, nsx_op_ns(o, i));
		if (p != NSX_NONE)
			nvtx_add_kernel(&f->coverage[p], counts, has_call,
					is_mapped, nsx_op_ns(o, i));
	}
	return nsx_stopped(err);
}

/* Packs v, which has a range for each range, as the distance back from each index; drops v. */
static int pack_before(struct nsx_arena *a, uint32_t *v, size_t n,
		       struct nsx_packed *ret, struct nsx_err *err)
{
	for (uint32_t i = 0; i < n; i++)
		v[i] = v[i] == NSX_NONE ? 0 : i - v[i];
	if (nsx_pack_u32(a, v, n, "ranges", ret, err))
		return err->rc;
	nsx_arena_drop(a, v);
	return 0;
}

static int find_parents(struct nsx_facts *f, const struct nsx_trace *t, struct nsx_err *err)
{
	size_t n = t->nvtx.n;
	uint32_t *parent;

	if (nsx_new_arrays(f->arena, n, "ranges", err, parent, f->nvtx.nested))
		return err->rc;
	memset(parent, 0xff, n * 4);
	return find_nesting(t, parent, f->nvtx.nested, err) ?:
	       pack_before(f->arena, parent, n, &f->nvtx.parent, err);
}

/* Finds the range in which each operation was launched, and the range around each range. */
static int attribute_ops(struct nsx_facts *f, const struct nsx_trace *t,
			 unsigned threads, struct nsx_err *err)
{
	struct job job = {.t = t, .nested = f->nvtx.nested};
	size_t nranges = t->nvtx.n;

	if (!nsx_new_array(job.around, f->arena, nranges, "ranges", err) ||
	    !nsx_new_array(job.call_range, f->arena, t->calls.n, "ranges of calls", err))
		return err->rc;
	memset(job.around, 0xff, nranges * 4);
	if (nsx_par(threads, t->nthreads, find_ranges_of_calls, &job, err) ||
	    pack_before(f->arena, job.around, nranges, &f->nvtx.around, err) ||
	    !nsx_new_array(job.op_range, f->arena, t->ops.n, "op ranges",
			   err) ||
	    nsx_par(threads, t->ndevices, nvtx_sweep_device, &job, err))
		return err->rc;
	nsx_arena_drop(f->arena, job.call_range);
	if (nsx_pack_index(f->arena, job.op_range, t->ops.n, "op ranges", &f->nvtx.op_range, err))
		return err->rc;
	nsx_arena_drop(f->arena, job.op_range);
	return 0;
}

int nsx_facts_nvtx(struct nsx_facts *f, const struct nsx_trace *t,
		   unsigned threads, struct nsx_err *err)
{
	return find_parents(f, t, err) ?: attribute_ops(f, t, threads, err) ?: sum_coverage(f, t,
											    err);
}

/* A counter ends the name or does not follow a letter: "step 12", "layer_3/attn" and "iter7", but
 * not "conv2d". A line of a file is none: "train.py:12".
 */
size_t nsx_counter_at(const char *s, size_t i)
{
	size_t n = i && nsx_is_digit(s[i - 1]) ? 0 : nsx_number_at(s, i);
	bool is_line = i > 4 && !strncmp(&s[i - 4], ".py:", 4);

	return !is_line && (!s[i + n] || !i || !nsx_is_letter(s[i - 1])) ? n : 0;
}

char *nsx_without_counters(char *s)
{
	size_t k = 0, n;

	for (size_t i = 0; s[i]; i += n) {
		n = nsx_counter_at(s, i);
		s[k++] = (char)(n ? '#' : s[i]);
		n = NSX_MAX(n, 1);
	}
	s[k] = '\0';
	return s;
}
