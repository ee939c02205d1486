/* remedy.c - what each remedy's finding says. */
#include "passes/remedy.h"

static const double least_share = 0.01;

static const struct words {
	const char *id, *category;
	const char *title;  /* without what is behind it */
	const char *behind; /* how the greatest contributor is named */
	const char *cause;  /* of gpu_idle_by_cause.csv */
	const char *advice[4];
} words[NSX_NREMEDIES] = {
	[NSX_R_SYNC] = {
		"idle_after_sync", "sync",
		"The GPU idles after the host waited for it", "waits in",
		"sync",
		{"Launch the next work before waiting, or wait on an event "
		 "only where a result is read on the host.",
		 "In PyTorch look for .item(), .cpu(), print of a tensor and "
		 "torch.cuda.synchronize() in the loop."}},
	[NSX_R_COPY] = {
		"idle_after_blocking_copy", "sync",
		"The GPU idles around copies that block the host", "copies by",
		"blocking_copy",
		{"Copy from pinned memory (cudaHostAlloc, pin_memory=True) "
		 "with an Async call on a stream of its own "
		 "(non_blocking=True)."}},
	[NSX_R_IMPLICIT] = {
		"idle_by_allocation", "sync",
		"The GPU idles while memory is allocated or freed", "calls of",
		"implicit_sync",
		{"Allocate before the loop, or use cudaMallocAsync with a "
		 "pool or a caching allocator; cudaFree waits for the GPU."}},
	[NSX_R_MODULE] = {
		"idle_by_module_load", "startup",
		"The GPU idles while code is loaded or compiled", "inside",
		"module_load",
		{"Warm up before the part that matters, or load eagerly: "
		 "CUDA_MODULE_LOADING=EAGER.",
		 "Build for this GPU's architecture, so that nothing is "
		 "compiled at run time (CUDA_CACHE_PATH keeps what is)."}},
	[NSX_R_OS_WAIT] = {
		"idle_by_os_wait", "host",
		"The GPU idles while the launching thread is in the operating "
		"system", "calls of", "os_wait",
		{"Keep I/O, locks and sleeps off the thread that launches: "
		 "hand its work over through a queue that is kept filled."}},
	[NSX_R_LAUNCH] = {
		"launch_bound", "launch",
		"The GPU waits for launches", "host time in", "launch_call",
		{"Capture the loop in a CUDA graph (in PyTorch "
		 "torch.cuda.graphs or torch.compile with mode="
		 "\"reduce-overhead\").",
		 "Fuse small kernels, or give each launch more work (larger "
		 "batches)."}},
	[NSX_R_API] = {
		"idle_by_slow_call", "launch",
		"The GPU idles during slow CUDA calls", "inside", "other_api",
		{"Move the call out of the loop; if it is a first launch, "
		 "warm up before the part that matters."}},
	[NSX_R_HOST_CODE] = {
		"idle_by_host_code", "host",
		"The GPU idles while the host computes", "in", "host_code",
		{"Move this code off the launching thread, or prepare the "
		 "next step while the GPU works on this one.",
		 "Where no NVTX range is named: capture with NVTX ranges, or "
		 "sample the CPU (nsys profile --sample=process-tree)."}},
};

/* Calls that are not there leave causes open. */
static const char *confidence(const struct nsx_trace *t)
{
	const struct nsx_matching *m = &t->matching;
	size_t n = m->matched + m->before_capture + m->no_call;

	return m->matched * 20 >= n * 19 ? "high" :
	       m->matched * 2 >= n	 ? "medium" : "low";
}

static void add_candidate(const struct nsx_run *run, struct nsx_section *out,
			  const struct words *x, uint32_t device,
			  const struct nsx_price *p, int64_t window_ns)
{
	const struct nsx_trace *t = run->trace;
	const char *top = *nsx_text(t, p->top) ?
				  nsx_md_name(out, nsx_text(t, p->top)) :
				  "code outside NVTX ranges";
	struct nsx_candidate c = {
		.id = x->id, .category = x->category, .title = x->title,
		.device = device, .spans = p->spans, .recoverable = 1,
		.confidence = confidence(t), .table = "gpu_idle_by_cause",
		.units = "ms"};

	c.evidence[0] = nsx_say(out, "GPU %lld: %.3f ms idle, %.1f %% of the "
				"window, in %zu pieces.",
				(long long)t->device[device].device_id,
				(double)p->ns / 1e6,
				100 * (double)p->ns / (double)window_ns,
				p->spans.n);
	c.evidence[1] = nsx_say(out, "Of it %.3f ms: %s %s.",
				(double)p->top_ns / 1e6, x->behind, top);
	c.evidence[2] = nsx_say(
		out, "The longest piece: %.3f ms at %lld ns.",
		(double)(p->longest.end_ns - p->longest.start_ns) / 1e6,
		(long long)p->longest.start_ns);
	for (unsigned i = 0; i < ARRAY_LEN(x->advice); i++)
		c.recommendation[i] = x->advice[i];
	c.key = nsx_say(out, "cause=%s", x->cause);
	c.values = nsx_say(out, "%.6f", (double)p->ns / 1e6);
	nsx_add_candidate(out, &c);
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
