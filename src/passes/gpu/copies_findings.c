/* copies_findings.c - which copies cost time.
 *
 * Each kind of trouble is a choice among a device's copies; its price is where
 * they run and no kernel does.  The device that loses most stands for all.
 */
#include <inttypes.h>
#include "passes/gpu/copies.h"
#include "base/stat.h"

enum trouble { EXPOSED, PAGEABLE, SMALL, MIGRATED, NTROUBLES };

struct loss { /* of one device */
	uint32_t device;
	struct nsx_spans spans; /* exposed */
	int64_t exposed_ns;	/* in the window that findings are about */
	int64_t count, bytes, total_ns;
};

static bool belongs(enum trouble k, const struct nsx_copy *c)
{
	switch (k) {
	case PAGEABLE:
		return copy_is_pageable(c->copy_kind, c->src_kind, c->dst_kind);
	case SMALL:
		return c->bytes >= 0 && c->bytes < SMALL_BYTES &&
		       !nsx_copy_is_migration(c->copy_kind);
	case MIGRATED:
		return nsx_copy_is_migration(c->copy_kind);
	default:
		return true;
	}
}

static const struct nsx_window *window_of(const struct nsx_run *run)
{
	const struct nsx_window *w = &run->facts->steady.window;

	return w->start_ns < w->end_ns ? w : &run->trace->window;
}

/* Union of the chosen copies that no kernel covers. */
static int measure(const struct nsx_run *run, const struct copy_groups *g,
		   enum trouble k, uint32_t device, struct nsx_arena *a,
		   struct loss *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_window *w = window_of(run);
	const struct nsx_device *d = &t->device[device];
	struct nsx_spans all = {0};
	size_t cursor = 0, n = 0;

	*ret = (struct loss){.device = device};
	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++)
		n += t->ops.kind[i] == NSX_OP_MEMCPY;
	all.v = nsx_arena_try_array(run->scratch, n, sizeof(*all.v),
				    "copy spans", err);
	if (!all.v)
		return err->rc;
	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++) {
		const struct nsx_copy *c = &t->copy[t->ops.detail[i]];

		if (t->ops.kind[i] != NSX_OP_MEMCPY || !belongs(k, c))
			continue;
		nsx_spans_push(&all, nsx_op_start(&t->ops, i),
			       nsx_op_end(&t->ops, i));
		if (!nsx_op_counts(t, i))
			continue;
		ret->count++;
		nsx_add_to(&ret->bytes, NSX_MAX(c->bytes, 0));
		nsx_add_to(&ret->total_ns, nsx_op_ns(&t->ops, i));
	}
	if (nsx_spans_minus(a, &all, &g->kernels[device], &ret->spans, err))
		return err->rc;
	ret->exposed_ns = nsx_spans_covered(&ret->spans, &cursor, w->start_ns,
					    w->end_ns);
	nsx_arena_drop(run->scratch, all.v);
	return 0;
}

/* The device that loses most. */
static int worst(const struct nsx_run *run, const struct copy_groups *g,
		 enum trouble k, struct nsx_arena *a, struct loss *ret,
		 struct nsx_err *err)
{
	*ret = (struct loss){.device = NSX_NONE};
	for (uint32_t d = 0; d < run->trace->ndevices; d++) {
		struct loss l;

		if (measure(run, g, k, d, a, &l, err))
			return err->rc;
		if (l.count && (ret->device == NSX_NONE ||
				l.exposed_ns > ret->exposed_ns))
			*ret = l;
	}
	return 0;
}

/* The group of a device with the greatest total time among those of a
 * direction (0: any) with the given pinned-ness; NULL if there is none.
 */
static const struct copy_group *largest(const struct copy_groups *g,
					uint32_t device, unsigned direction,
					bool pinned)
{
	const struct copy_group *best = NULL;

	for (size_t i = 0; i < g->n; i++) {
		const struct copy_group *x = &g->v[i];
		uint8_t host = x->kind == NSX_COPY_HTOD ? x->src : x->dst;

		if (x->device != device ||
		    (direction && x->kind != direction) ||
		    (pinned && host != NSX_MEM_PINNED))
			continue;
		if (!best || x->total_ns > best->total_ns)
			best = x;
	}
	return best;
}

static double rate(const struct copy_group *x)
{
	return isnan(x->p50_gbps) ? copy_gbps(x) : x->p50_gbps;
}

static double percent(int64_t part, const struct nsx_window *w)
{
	return w->end_ns > w->start_ns ?
		       100 * (double)part / (double)(w->end_ns - w->start_ns) :
		       0;
}

static const char *label_of(const struct nsx_run *run)
{
	return window_of(run) == &run->trace->window ? "window" :
						       "steady window";
}

/* Fields that all these candidates share. */
static struct nsx_finding start(const struct nsx_run *run,
				const struct loss *l, enum nsx_finding_id id)
{
	const struct nsx_trace *t = run->trace;

	return (struct nsx_finding){
		.id = id,
		.device = l->device,
		.spans = l->spans,
		.recoverable = 1,
		.confidence = NSX_CONF_HIGH,
		.proof = {{"memcpy_summary", "exposed_ms", "ms",
			   {{"device_id",
			     nsx_int(t->device[l->device].device_id)}}}},
	};
}

static int judge_exposed(const struct nsx_run *run,
			 const struct copy_groups *g, struct nsx_section *out,
			 struct nsx_err *err)
{
	const struct nsx_window *w = window_of(run);
	const struct copy_group *x;
	struct nsx_finding c;
	struct loss l;
	int64_t id;
	double pct;

	if (worst(run, g, EXPOSED, out->arena, &l, err))
		return err->rc;
	if (l.device == NSX_NONE)
		return 0;
	id = run->trace->device[l.device].device_id;
	pct = percent(l.exposed_ns, w);
	if (pct < 5) {
		nsx_fine(&out->found, "Copies: at most %.3f ms (%.1f%% of the %s, "
				 "GPU %" PRId64 ") run without a kernel beside "
				 "them.",
			    (double)l.exposed_ns / 1e6, pct, label_of(run), id);
		return 0;
	}
	x = largest(g, l.device, 0, false);
	c = start(run, &l, NSX_ID_exposed_copies);
	c.title = nsx_say(out, "Copy-bound: on GPU %" PRId64 " copies run "
			       "alone for %.1f%% of the %s", id, pct,
			  label_of(run));
	c.evidence[0] = nsx_say(
		out, "%.3f ms of copies without a kernel beside them; %" PRId64
		     " copies, %s in all",
		(double)l.exposed_ns / 1e6, l.count,
		nsx_say_bytes(out, l.bytes));
	c.evidence[1] = nsx_say(
		out, "most of it %s from %s to %s memory: %s at %.2f GB/s; the "
		     "link is not in the trace, so no claim about its peak",
		g->direction[x->kind], g->mem_label[x->src],
		g->mem_label[x->dst], nsx_say_bytes(out, x->bytes),
		copy_gbps(x));
	c.recommendation[0] = "move less: keep data on the device, copy it "
			      "once, in a narrower type, or produce it there";
	c.recommendation[1] = "overlap: copy on a stream of its own from "
			      "pinned memory, one batch ahead of the kernels "
			      "that use it";
	nsx_found(&out->found, &c);
	return 0;
}

/* What pinned memory would give back of the exposed time, by the rates seen on
 * this device: of each direction 1 - pageable rate / pinned rate.  Negative:
 * no pinned copy to compare with.
 */
static double pinned_gain(const struct copy_groups *g, uint32_t device,
			  double *ret_pageable, double *ret_pinned)
{
	double gain = -1;
	int64_t most = -1;

	for (size_t i = 0; i < g->n; i++) {
		const struct copy_group *x = &g->v[i];
		const struct copy_group *ref;

		if (x->device != device || x->exposed_ns <= most ||
		    !copy_is_pageable(x->kind, x->src, x->dst))
			continue;
		ref = largest(g, device, x->kind, true);
		if (!ref || !(rate(ref) > 0) || !(rate(x) > 0))
			continue;
		most = x->exposed_ns;
		*ret_pageable = rate(x);
		*ret_pinned = rate(ref);
		gain = NSX_MAX(0, 1 - rate(x) / rate(ref));
	}
	return gain;
}

static int judge_pageable(const struct nsx_run *run,
			  const struct copy_groups *g, struct nsx_section *out,
			  struct nsx_err *err)
{
	const struct nsx_window *w = window_of(run);
	double slow = 0, fast = 0, gain, pct;
	struct nsx_finding c;
	int64_t all_ns = 0, id;
	struct loss l;

	if (worst(run, g, PAGEABLE, out->arena, &l, err))
		return err->rc;
	if (l.device == NSX_NONE)
		return 0;
	id = run->trace->device[l.device].device_id;
	for (size_t i = 0; i < g->n; i++)
		if (g->v[i].device == l.device)
			nsx_add_to(&all_ns, g->v[i].total_ns);
	pct = percent(l.exposed_ns, w);
	if (l.total_ns < all_ns / 100 || pct < 0.1) {
		nsx_fine(&out->found, "Pageable memory: %" PRId64 " copies of %s "
				 "use it, exposed for at most %.3f ms (%.2f%% "
				 "of the %s, GPU %" PRId64 ").",
			    l.count, nsx_say_bytes(out, l.bytes),
			    (double)l.exposed_ns / 1e6, pct, label_of(run), id);
		return 0;
	}
	gain = pinned_gain(g, l.device, &slow, &fast);
	c = start(run, &l, NSX_ID_pageable_copies);
	c.title = nsx_say(out, "Copies from or to pageable memory on GPU "
			       "%" PRId64, id);
	c.evidence[0] = nsx_say(
		out, "%" PRId64 " copies, %s, %.3f ms, of which %.3f ms "
		     "without a kernel (%.1f%% of the %s)",
		l.count, nsx_say_bytes(out, l.bytes), (double)l.total_ns / 1e6,
		(double)l.exposed_ns / 1e6, pct, label_of(run));
	c.evidence[1] = gain < 0 ?
		"no pinned copy of that direction to compare with: not priced" :
		nsx_say(out, "%.2f GB/s against %.2f GB/s from pinned memory "
			     "in this trace", slow, fast);
	c.recommendation[0] = "allocate host buffers pinned (cudaHostAlloc, "
			      "cudaHostRegister; DataLoader(pin_memory=True) "
			      "in PyTorch) and copy asynchronously";
	c.recoverable = NSX_MAX(gain, 0);
	c.confidence = NSX_CONF_MEDIUM;
	if (gain < 0) {
		c.device = NSX_NONE;
		c.spans.n = 0;
		c.is_set = true;
	}
	nsx_found(&out->found, &c);
	return 0;
}

enum { MANY = 1000 };

static int judge_small(const struct nsx_run *run, const struct copy_groups *g,
		       struct nsx_section *out, struct nsx_err *err)
{
	struct nsx_finding c;
	struct loss l;
	double best = 0, needed;

	if (worst(run, g, SMALL, out->arena, &l, err))
		return err->rc;
	if (l.device == NSX_NONE || l.count < MANY || !l.exposed_ns)
		return 0;
	for (size_t i = 0; i < g->n; i++)
		if (g->v[i].device == l.device && rate(&g->v[i]) > best)
			best = rate(&g->v[i]);
	needed = best > 0 ? (double)l.bytes / best : 0;
	c = start(run, &l, NSX_ID_small_copies);
	c.title = nsx_say(out,
			  "%" PRId64 " copies below 64 KiB on GPU %" PRId64,
			  l.count, run->trace->device[l.device].device_id);
	c.evidence[0] = nsx_say(
		out, "%s in %.3f ms (%.2f GB/s); exposed %.3f ms, %.1f%% of "
		     "the %s",
		nsx_say_bytes(out, l.bytes), (double)l.total_ns / 1e6,
		(double)l.bytes / (double)NSX_MAX(l.total_ns, 1),
		(double)l.exposed_ns / 1e6,
		percent(l.exposed_ns, window_of(run)), label_of(run));
	c.evidence[1] = nsx_say(
		out, "at the best rate seen on this GPU (%.2f GB/s) these "
		     "bytes take %.3f ms", best, needed / 1e6);
	c.recommendation[0] = "gather small tensors into one buffer and copy "
			      "it once, or use cudaMemcpyBatchAsync";
	c.recommendation[1] = "avoid reading single values back "
			      "(.item(), .cpu() in a loop)";
	c.recoverable = NSX_MAX(0, 1 - needed / (double)NSX_MAX(l.total_ns, 1));
	c.confidence = NSX_CONF_MEDIUM;
	nsx_found(&out->found, &c);
	return 0;
}

static int judge_migrations(const struct nsx_run *run,
			    const struct copy_groups *g,
			    struct nsx_section *out, struct nsx_err *err)
{
	const struct nsx_schema *s = run->trace->schema;
	bool faults = nsx_has_view(s, NSX_VIEW_um_gpu_fault) ||
		      nsx_has_view(s, NSX_VIEW_um_cpu_fault);
	struct nsx_finding c;
	struct loss l;

	if (worst(run, g, MIGRATED, out->arena, &l, err))
		return err->rc;
	if (l.device == NSX_NONE)
		return 0;
	c = start(run, &l, NSX_ID_unified_memory);
	c.title = nsx_say(out, "Unified memory migrates on GPU %" PRId64 ": %"
			       PRId64 " times, %s",
			  run->trace->device[l.device].device_id, l.count,
			  nsx_say_bytes(out, l.bytes));
	c.evidence[0] = nsx_say(
		out, "%.3f ms of migrations, %.3f ms of them without a kernel "
		     "(%.1f%% of the %s)", (double)l.total_ns / 1e6,
		(double)l.exposed_ns / 1e6,
		percent(l.exposed_ns, window_of(run)), label_of(run));
	c.evidence[1] = faults ?
		"page faults were recorded: see Memory usage" :
		"page faults were not traced: add "
		"--cuda-um-gpu-page-faults=true --cuda-um-cpu-page-faults=true";
	c.recommendation[0] = "prefetch before use (cudaMemPrefetchAsync) and "
			      "advise (cudaMemAdvise), or copy explicitly";
	c.confidence = NSX_CONF_MEDIUM;
	nsx_found(&out->found, &c);
	return 0;
}

int copies_judge(const struct nsx_run *run, const struct copy_groups *g,
		 struct nsx_section *out, struct nsx_err *err)
{
	int rc = judge_exposed(run, g, out, err);

	if (!rc)
		rc = judge_pageable(run, g, out, err);
	if (!rc)
		rc = judge_small(run, g, out, err);
	return rc ? rc : judge_migrations(run, g, out, err);
}
