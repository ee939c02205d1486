/* remedy.c - what each remedy's finding says. */
#include "passes/verdict/remedy.h"

static const double least_share = 0.01;

static const struct words {
	enum nsx_finding_id id;
	const char *title;	/* the name of what is behind it follows       */
	const char *cause;	/* of gpu_idle_by_cause.csv ...                */
	const char *barrier;	/* ... or kind of barrier; NULL                */
	const char *act, *rest; /* what to do, around that name                */
	const char *advice;	/* more of it; NULL                            */
} words[NSX_NREMEDIES] = {
	[NSX_R_SYNC] = {
		NSX_ID_idle_after_sync, "the GPU idles after waits in ",
		"sync", "sync_api", "launch the next work before ",
		", or wait on an event where the host first reads a result",
		"in PyTorch look for .item(), .cpu(), print of a tensor and "
		"torch.cuda.synchronize() in the loop"},
	[NSX_R_COPY] = {
		NSX_ID_idle_after_blocking_copy,
		"the GPU idles around copies that block the host: ",
		"blocking_copy", "blocking_memcpy", "replace ", " by an Async copy from pinned "
		"memory (cudaHostAlloc, pin_memory=True) on a stream of its "
		"own (non_blocking=True)", NULL},
	[NSX_R_IMPLICIT] = {
		NSX_ID_idle_by_allocation,
		"the GPU idles while memory is allocated or freed: ",
		"implicit_sync", "implicit_sync", "take ", " out of the loop: allocate before "
		"it, or use a pool (cudaMallocAsync) or a caching allocator; "
		"cudaFree waits for the GPU", NULL},
	[NSX_R_MODULE] = {
		NSX_ID_idle_by_module_load,
		"the GPU idles while code is loaded or compiled: ",
		"module_load", NULL, "warm up before the part that matters, so that ",
		" has loaded what it needs; or load eagerly with "
		"CUDA_MODULE_LOADING=EAGER",
		"build for this GPU's architecture, so that nothing is "
		"compiled at run time"},
	[NSX_R_OS_WAIT] = {
		NSX_ID_idle_by_os_wait,
		"the GPU idles while the launching thread is in the operating "
		"system: ", "os_wait", NULL, "take ", " off the thread that "
		"launches: hand I/O and locks to another through a queue that "
		"is kept filled", NULL},
	[NSX_R_LAUNCH] = {
		NSX_ID_launch_bound,
		"the GPU waits for launches; most host time goes to ",
		"launch_call", NULL, "capture the loop in a CUDA graph (in PyTorch "
		"torch.cuda.graphs or torch.compile with mode="
		"\"reduce-overhead\"): the host now spends most in ", "",
		"fuse small kernels, or give each launch more work (larger "
		"batches)"},
	[NSX_R_API] = {
		NSX_ID_idle_by_slow_call,
		"the GPU idles during slow CUDA calls: ", "other_api", NULL,
		"take ", " out of the loop; if it is a first launch, warm up "
		"before the part that matters", NULL},
	[NSX_R_HOST_CODE] = {
		NSX_ID_idle_by_host_code,
		"the GPU idles while the host computes: ", "host_code", NULL,
		"take ", " off the launching thread, or prepare the next step "
		"while the GPU works on this one",
		"where no range is named: capture with NVTX ranges, or sample "
		"the CPU (nsys profile --sample=process-tree)"},
};

/* Calls that are not there leave causes open. */
static enum nsx_confidence confidence(const struct nsx_trace *t)
{
	const struct nsx_matching *m = &t->matching;
	size_t n = m->matched + m->before_capture + m->no_call;

	return m->matched * 20 >= n * 19 ? NSX_CONF_HIGH :
	       m->matched * 2 >= n	 ? NSX_CONF_MEDIUM : NSX_CONF_LOW;
}

static const char *say_longest(struct nsx_section *out,
			       const struct nsx_price *p)
{
	const char *text = "the longest:";

	for (unsigned i = 0; i < ARRAY_LEN(p->longest); i++) {
		const struct nsx_span *s = &p->longest[i];

		if (s->start_ns < s->end_ns)
			text = nsx_say(out, "%s%s %.3f ms at %lld ns", text,
				       i ? "," : "",
				       (double)(s->end_ns - s->start_ns) / 1e6,
				       (long long)s->start_ns);
	}
	return text;
}

static void add_candidate(const struct nsx_run *run, struct nsx_section *out,
			  const struct words *x, uint32_t device,
			  const struct nsx_price *p, int64_t window_ns)
{
	const struct nsx_trace *t = run->trace;
	const char *top = p->top ? nsx_md_name(out, nsx_fact_text(run->facts, p->top)) :
				   "code outside NVTX ranges";
	unsigned n = 0;
	struct nsx_finding c = {
		.id = x->id,
		.title = nsx_say(out, "%s%s", x->title, top),
		.device = device, .spans = p->spans, .recoverable = 1,
		.confidence = confidence(t),
		.proof = {{"gpu_idle_by_cause", "total_ms", "ms",
			   {{"device_id", nsx_int(t->device[device].device_id)},
			    {"cause", nsx_string(x->cause)}}}}};

	if (x->barrier)
		c.proof[0] = (struct nsx_evidence){
			.csv = "barriers", .column = "cost_ms", .units = "ms",
			.at = {{"barrier_kind", nsx_string(x->barrier)}}};


	c.evidence[n++] = nsx_say(out, "GPU %lld: %.3f ms idle, %.1f%% of the "
				  "window, in %zu pieces",
				  (long long)t->device[device].device_id,
				  (double)p->ns / 1e6,
				  100 * (double)p->ns / (double)window_ns,
				  p->spans.n);
	if (p->top_ns < p->ns)
		c.evidence[n++] = nsx_say(out, "%.3f ms of it: %s",
					  (double)p->top_ns / 1e6, top);
	if (p->after)
		c.evidence[n++] = nsx_say(
			out, "after the wait most of it, %.3f ms, goes to %s",
			(double)p->after_ns / 1e6,
			nsx_md_name(out, nsx_fact_text(run->facts, p->after)));
	if (p->range)
		c.evidence[n++] = nsx_say(
			out, "%.3f ms of it end with a launch in the NVTX "
			"range %s", (double)p->range_ns / 1e6,
			nsx_md_name(out, nsx_fact_text(run->facts, p->range)));
	c.evidence[n++] = say_longest(out, p);
	c.recommendation[0] = nsx_say(out, "%s%s%s", x->act, top, x->rest);
	c.recommendation[1] = x->advice;
	nsx_found(&out->found, &c);
}

int nsx_add_remedy(const struct nsx_run *run, struct nsx_section *out,
		   enum nsx_remedy remedy, double *ret_share,
		   struct nsx_err *err)
{
	struct nsx_window w = nsx_judged(run->facts);
	int64_t window_ns = w.end_ns - w.start_ns;

	*ret_share = 0;
	for (uint32_t d = 0; d < run->trace->ndevices && window_ns > 0; d++) {
		struct nsx_price p;
		double share;

		if (nsx_price_idle(run->facts, run->trace, d, remedy, &w,
				   out->arena, &p, err))
			return err->rc;
		share = (double)p.ns / (double)window_ns;
		*ret_share = NSX_MAX(*ret_share, share);
		if (share >= least_share)
			add_candidate(run, out, &words[remedy], d, &p,
				      window_ns);
	}
	return 0;
}
