/* queued.c - work that is queued but does not run: pauses of the GPU between short kernels, about a
 * microsecond each, which is much if kernels take two or three; the legacy default stream, which
 * waits for all work queued before on the blocking streams of its context, while they wait for it;
 * and a GPU that is taken away in slices of equal length, because another program uses it.
 *
 * A kernel is queued in time if it could have started before the kernel ahead of it ended. A launch
 * takes two microseconds or more from the end of its call, so a pause before a later kernel is due
 * to its launch.
 */
#include "detect/detect.h"
#include "facts/replay/replay.h"
#include "facts/slices.h"

enum {
	/* a kernel up to this long is short; its start takes two or three microseconds */
	SHORT_NS = 5000,
	LEAST_NS = 250,	 /* no GPU starts a kernel sooner after one that it may not overlap */
	MOST_NS = 5000,	 /* a longer pause has another cause                 */
	IN_GRAPH_NS = 300, /* pause between kernels of a graph; median 256 on H200, 320 on V100 */
};
#define PAUSES_SHARE 0.01 /* least share of the window that the pauses take */

struct pauses {
	struct nsx_detect *d;
	struct nsx_row_list after; /* kernels that end a pause               */
	int64_t ns, kernels_ns;
	int64_t launch_ns; /* from the end of a launch call to the start of its kernel */
	bool in_graphs;
	struct nsx_places *places;
};

static bool is_short(const struct nsx_trace *t, uint32_t op)
{
	return t->ops.kind[op] == NSX_OP_KERNEL &&
	       t->ops.cls[op] == NSX_C_COMPUTE &&
	       nsx_op_ns(&t->ops, op) <= SHORT_NS;
}

/* Whether a kernel was queued so early that it could have started before its predecessor ended.
 * Kernels of one graph launch always were, although the call may outlast the first of them.
 */
static bool is_queued(const struct pauses *p, uint32_t op, uint32_t before)
{
	const struct nsx_trace *t = p->d->trace;
	uint32_t call = nsx_op_call(&t->ops, op);

	return call == NSX_NONE || call == nsx_op_call(&t->ops, before) ||
	       nsx_call_end(&t->calls, call) + p->launch_ns <= nsx_op_end(&t->ops, before);
}

static int add_pause(struct pauses *p, uint32_t op, int64_t ns, struct nsx_err *err)
{
	const struct nsx_trace *t = p->d->trace;
	uint32_t call = nsx_op_call(&t->ops, op);

	nsx_add_to(&p->ns, ns);
	nsx_add_to(&p->kernels_ns, nsx_op_ns(&t->ops, op));
	p->in_graphs |= call != NSX_NONE && (t->calls.flags[call] & NSX_CALL_GRAPH);
	return nsx_list_row(p->d, &p->after, op, err) ?:
	       nsx_places_add_op(p->places, 0, op, ns, err);
}

/* Collects the pauses of a device between kernels that were queued in time. last: by stream, its
 * last operation.
 */
static int pauses_collect(struct pauses *p, const struct nsx_device *dev, uint32_t *last,
			  struct nsx_err *err)
{
	const struct nsx_trace *t = p->d->trace;
	int rc = 0;

	for (size_t i = dev->ops_at; !rc && i < dev->ops_at + dev->nops; i++) {
		uint32_t op = (uint32_t)i, stream = nsx_op_stream(&t->ops, i);
		uint32_t before = last[stream];
		int64_t ns;

		last[stream] = op;
		if (before == NSX_NONE || !is_short(t, before) ||
		    !is_short(t, op) || !is_queued(p, op, before) ||
		    !nsx_is_judged(p->d, nsx_op_start(&t->ops, i)))
			continue;
		ns = nsx_op_start(&t->ops, i) - nsx_op_end(&t->ops, before);
		if (ns >= LEAST_NS && ns <= MOST_NS)
			rc = add_pause(p, op, ns, err);
	}
	return rc;
}

/* Says how the finding was priced: as one fused kernel, or preferably as a CUDA graph, which leaves
 * kernels as they are.
 */
static void tell_price(const struct pauses *p, struct nsx_finding *f)
{
	struct nsx_findings *l = p->d->found;
	bool pytorch = p->d->is_pytorch;

	f->is_bound = f->is_assumed = p->in_graphs; /* tracing by node lengthens pauses */
	f->evidence[1] = p->in_graphs ? say_priced_as_one_kernel :
					nsx_tell(l, say_priced_as_cuda_graph_which,
						nsx_text_ns(l->arena, IN_GRAPH_NS));
	if (!p->in_graphs)
		f->recommendation[0] =
			pytorch ? say_capture_cuda_graph_torch : say_capture_cuda_graph;
	f->recommendation[!p->in_graphs] =
		pytorch ? say_fuse_torch_compile_or_give : say_fuse_or_give_each_more;
}

static void pauses_propose(struct pauses *p)
{
	struct nsx_findings *l = p->d->found;
	double n = (double)p->after.n;
	struct nsx_finding f = {.id = NSX_ID_launch_bound,
		.subject = "pauses", .device = p->d->facts->limiting, .confidence = NSX_CONF_MEDIUM,
		/* time lost to late launches is no pause between queued kernels */
		.most_ns = (double)p->ns,
		.title = say_gpu_pauses_between_short,
		.evidence = {nsx_tell(l, say_pauses_all_between_kernels, p->after.n,
			nsx_text_ns(l->arena, (double)p->ns / n), nsx_tell_ns(l, p->ns),
			nsx_say_over_gpus(p->d, p->after.v, p->after.n),
			nsx_text_ns(l->arena, (double)p->kernels_ns / n))},
		.proof = {{.csv = "gpu_idle_by_cause",
			.column = "total_ms",
			.at = {{"cause", nsx_string("dispatch")}}}},
		.remedy = nsx_plan_of(
			p->d, (struct nsx_change){.verb = NSX_FUSE,
				      .op = NSX_ON_KERNELS,
				      .least_ns = p->in_graphs ? 0 : IN_GRAPH_NS,
				      .rows = nsx_keep_rows(p->d, p->after.v, p->after.n)})};

	tell_price(p, &f);
	nsx_places_tell(p->places, 0, &f);
	nsx_found(l, &f);
}

int nsx_detect_pauses(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	struct pauses p = {.d = d, .places = nsx_new_places(d),
			   .launch_ns = nsx_model_launch_ns(d->facts->model)};
	uint32_t *last = nsx_arena_get(d->scratch, (t->nstreams + 1) * sizeof(*last));

	for (uint32_t i = 0; i < t->nstreams; i++)
		last[i] = NSX_NONE;
	for (uint32_t i = 0; i < t->ndevices; i++)
		if (pauses_collect(&p, &t->device[i], last, err))
			return err->rc;
	if ((double)p.ns >= PAUSES_SHARE * d->length_ns)
		pauses_propose(&p);
	return 0;
}

/* The default stream ----------------------------------------------------------------- */

/* Proposes to detach the default stream. The trace does not show whether the other streams need its
 * work.
 */
static void propose_apart(struct nsx_detect *d, uint32_t stream, size_t n, size_t nothers)
{
	struct nsx_findings *l = d->found;
	const struct nsx_stream *s = &d->trace->stream[stream];
	struct nsx_finding f = {.id = NSX_ID_false_dependency,
		.subject = "default_stream", .device = s->device, .confidence = NSX_CONF_MEDIUM,
		.title = say_default_stream_makes_other,
		.evidence = {nsx_tell(l, say_on_stream_which_takes,
				     nsx_text_n(l->arena, n, "operation", NULL),
				     (long long)s->stream_id,
				     nsx_text_n(l->arena, nothers, "blocking stream", NULL)),
			say_an_upper_bound_as_if_4},
		.is_bound = true,
		.recommendation = {say_create_streams_with},
		.remedy = nsx_plan_of(d, (struct nsx_change){
			.verb = NSX_CUT, .by = NSX_BY_STREAM, .stream = stream})};

	nsx_found(l, &f);
}

int nsx_detect_streams(struct nsx_detect *d, struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_trace *t = d->trace;
	size_t *n = nsx_arena_get(d->scratch, (t->nstreams + 1) * sizeof(*n));

	for (size_t i = 0; i < t->ops.n; i++)
		n[nsx_op_stream(&t->ops, i)] += nsx_is_judged(d, nsx_op_start(&t->ops, i));
	NSX_EACH_RUN(i, next, t->nstreams, nsx_same_context(&t->stream[i], &t->stream[next])) {
		size_t nothers = 0, null = SIZE_MAX;

		for (size_t k = i; k < next; k++) {
			if (n[k] && t->stream[k].type == NSX_STREAM_NULL)
				null = k;
			nothers += n[k] && t->stream[k].type == NSX_STREAM_BLOCKING;
		}
		if (null != SIZE_MAX && nothers)
			propose_apart(d, (uint32_t)null, n[null], nothers);
	}
	return 0;
}

/* A shared GPU ----------------------------------------------------------------------- */

/* gpus: "2, 3", the GPUs with such gaps; x: the one that loses most. */
static void propose_slices(struct nsx_detect *d, const struct nsx_slices *x, const char *gpus)
{
	struct nsx_findings *l = d->found;
	struct nsx_finding f = {.id = NSX_ID_gpu_shared,
		.device = x->device, .subject = "time_slices", .confidence = NSX_CONF_MEDIUM,
		.guess_ns = (double)x->sum_ns, .is_rule = true,
		.title = nsx_tell(l, say_another_program_uses_gpu, strchr(gpus, ',') ? "s" : "",
				  gpus),
		.evidence = {nsx_tell(l, say_gaps_between_stretches,
				     nsx_gpu_label(d->trace, x->device), x->n,
				     nsx_text_ns(l->arena, x->gap_ns), nsx_text_ns(l->arena, x->busy_ns)),
			nsx_tell(l, say_price_length_these_gaps, !x->nstretched ? "" :
				 nsx_tell(l, say_and_what_kernels_take,
					  nsx_text_n(l->arena, x->nstretched, "kernel", NULL)))},
		.recommendation = {say_see_who_else_uses_nvidia}};

	nsx_found(l, &f);
}

int nsx_detect_shared(struct nsx_detect *d, struct nsx_err *err)
{
	struct nsx_slices most = {.sum_ns = 0}, x;
	const char *gpus = NULL;

	for (uint32_t i = 0; i < d->trace->ndevices; i++) {
		if (nsx_find_slices(d->trace, i, d->w, d->scratch, &x, err))
			return err->rc;
		if (!x.n)
			continue;
		gpus = nsx_tell(d->found, "%s%s%s", gpus ?: "", gpus ? ", " : "",
				nsx_gpu_label(d->trace, i));
		most = x.sum_ns > most.sum_ns ? x : most;
	}
	if (most.n)
		propose_slices(d, &most, gpus);
	return 0;
}
