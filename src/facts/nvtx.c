/* nvtx.c - the range each op was launched in, and how ranges nest.
 *
 * Calls and push/pop ranges of a thread are both in order of start: one sweep
 * a thread finds the innermost range at each call, and an op is in the range of
 * its host call.  How ranges of one stack nest is a sweep over them domain by
 * domain.  Start/end ranges are on no stack: they attribute nothing.
 */
#include <string.h>
#include "facts/facts.h"
#include "trace/nvtx_walk.h"
#include "base/par.h"
#include "base/stat.h"

/* Stacks: parent and nested ------------------------------------------------*/

/* Push/pop ranges by domain, in each by thread and start. Returns how many. */
static size_t order_by_domain(const struct nsx_trace *t, uint32_t *at,
			      uint32_t *order)
{
	const struct nsx_nvtx *x = &t->nvtx;
	uint32_t sum = 0;

	for (size_t i = 0; i < x->n; i++)
		at[nsx_range_domain(x, i)] += x->kind[i] == NSX_NVTX_STACK;
	for (uint32_t d = 0; d < t->ndomains; d++) {
		uint32_t n = at[d];

		at[d] = sum;
		sum += n;
	}
	for (uint32_t i = 0; i < x->n; i++)
		if (x->kind[i] == NSX_NVTX_STACK)
			order[at[nsx_range_domain(x, i)]++] = i;
	return sum;
}

struct latest { /* outermost range of a name, on the stack it was met on */
	uint32_t range, stack;
};

static void sweep_stacks(const struct nsx_trace *t, const uint32_t *order,
			 size_t n, struct latest *latest,
			 struct nsx_nvtx_facts *f)
{
	const struct nsx_nvtx *x = &t->nvtx;
	uint32_t stack = 0, top = NSX_NONE;

	for (size_t k = 0; k < n; k++) {
		uint32_t i = order[k], before = k ? order[k - 1] : i;
		struct latest *l = &latest[x->name[i]];

		if (!k || nsx_range_domain(x, i) != nsx_range_domain(x, before) ||
		    nsx_nvtx_thread(t, i) != nsx_nvtx_thread(t, before)) {
			stack++;
			top = NSX_NONE;
		}
		while (top != NSX_NONE &&
		       !nsx_nvtx_is_open(x, top, nsx_range_start(x, i)))
			top = f->parent[top];
		f->parent[i] = top;
		top = i;
		if (l->stack == stack &&
		    nsx_nvtx_is_open(x, l->range, nsx_range_start(x, i)))
			f->nested[i] = 1;
		else
			*l = (struct latest){i, stack};
	}
}

static int nest(const struct nsx_trace *t, struct nsx_nvtx_facts *f,
		struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	uint32_t *at = nsx_arena_try_array(a, t->ndomains, 4, "domains", err);
	uint32_t *order = nsx_arena_try_array(a, t->nvtx.n, 4, "range order",
					      err);
	struct latest *latest = nsx_arena_try_array(
		a, nsx_strings_bound(t->strings), sizeof(*latest),
		"range names", err);
	int rc = at && order && latest ? 0 : err->rc;

	if (!rc)
		sweep_stacks(t, order, order_by_domain(t, at, order), latest,
			     f);
	nsx_arena_free(a);
	return rc;
}

/* Attribution --------------------------------------------------------------*/

struct job {
	const struct nsx_trace *t;
	struct nsx_nvtx_facts *f;
	uint32_t *call_range; /* by call */
};

static int sweep_thread(void *ctx, size_t i, struct nsx_err *err)
{
	struct job *job = ctx;
	const struct nsx_trace *t = job->t;
	const struct nsx_thread *th = &t->thread[i];
	uint32_t *around = job->f->around;
	struct nsx_nvtx_walk user, library;

	nsx_nvtx_walk_begin(&user, t, (uint32_t)i, true, false, around);
	nsx_nvtx_walk_begin(&library, t, (uint32_t)i, false, true, around);
	for (uint32_t c = th->calls_at; c < th->calls_at + th->ncalls; c++) {
		uint32_t u =
		    nsx_nvtx_walk_to(&user, nsx_call_start(&t->calls, c));
		uint32_t l =
		    nsx_nvtx_walk_to(&library, nsx_call_start(&t->calls, c));

		job->call_range[c] = u != NSX_NONE ? u : l;
	}
	nsx_nvtx_walk_to(&user, INT64_MAX);
	nsx_nvtx_walk_to(&library, INT64_MAX);
	for (uint32_t r = th->nvtx_at; r < th->nvtx_at + th->nnvtx; r++)
		if (around[r] != NSX_NONE && job->f->nested[around[r]])
			around[r] = around[around[r]];
	return nsx_stopped(err);
}

static int sweep_device(void *ctx, size_t i, struct nsx_err *err)
{
	struct job *job = ctx;
	const struct nsx_ops *o = &job->t->ops;
	const struct nsx_device *d = &job->t->device[i];

	for (size_t k = d->ops_at; k < d->ops_at + d->nops; k++) {
		uint32_t call = o->call[k];

		job->f->op_range[k] = call == NSX_NONE ? NSX_NONE :
							 job->call_range[call];
	}
	return nsx_stopped(err);
}

static void add_kernel(struct nsx_coverage *c, bool counts, bool has_call,
		       bool is_mapped, int64_t ns)
{
	nsx_add_to(&c->kernel_ns, ns);
	c->nkernels += counts;
	c->nmapped += is_mapped && counts;
	nsx_add_to(is_mapped ? &c->mapped_ns :
		   has_call  ? &c->no_range_ns : &c->no_call_ns, ns);
}

static int cover(struct nsx_facts *f, const struct nsx_trace *t,
		 struct nsx_err *err)
{
	const struct nsx_ops *o = &t->ops;

	if (!nsx_new_array(f->coverage, f->arena, (size_t)t->nprocesses + 1,
			   "processes", err))
		return err->rc;
	for (size_t i = 0; i < o->n; i++) {
		uint32_t p = nsx_op_process(t, i);
		bool counts = nsx_op_counts(t, i);
		bool has_call = o->call[i] != NSX_NONE;
		bool is_mapped = f->nvtx.op_range[i] != NSX_NONE;

		if (o->kind[i] != NSX_OP_KERNEL)
			continue;
		add_kernel(&f->coverage[t->nprocesses], counts, has_call,
			   is_mapped, nsx_op_ns(o, i));
		if (p != NSX_NONE)
			add_kernel(&f->coverage[p], counts, has_call,
				   is_mapped, nsx_op_ns(o, i));
	}
	return nsx_stopped(err);
}

int nsx_facts_nvtx(struct nsx_facts *f, const struct nsx_trace *t,
		   unsigned threads, struct nsx_err *err)
{
	struct nsx_nvtx_facts *n = &f->nvtx;
	struct job job = {t, n, NULL};
	size_t nops = t->ops.n, nranges = t->nvtx.n;
	int rc;

	if (!nsx_new_array(n->op_range, f->arena, nops, "op ranges", err) ||
	    !nsx_new_array(n->parent, f->arena, nranges, "ranges", err) ||
	    !nsx_new_array(n->around, f->arena, nranges, "ranges", err) ||
	    !nsx_new_array(n->nested, f->arena, nranges, "ranges", err) ||
	    !nsx_new_array(job.call_range, f->arena, t->calls.n,
			   "ranges of calls", err))
		return err->rc;
	memset(n->parent, 0xff, nranges * 4);
	memset(n->around, 0xff, nranges * 4);
	rc = nest(t, n, err);
	if (!rc)
		rc = nsx_par(threads, t->nthreads, sweep_thread, &job, err);
	if (!rc)
		rc = nsx_par(threads, t->ndevices, sweep_device, &job, err);
	nsx_arena_drop(f->arena, job.call_range);
	return rc ? rc : cover(f, t, err);
}
