/* critical_findings.c - what the path of the limiting GPU suggests: its top
 * kernel, work that is spread unevenly over GPUs, and idle time that no other
 * analysis explains.
 */
#include <string.h>
#include "passes/verdict/critical_path.h"

#define KERNEL_SHARE 0.1  /* of the window, from which a kernel is named */
#define ASSUMED_GAIN 0.2  /* of its time, that better code may save      */
#define UNEVEN 0.1	  /* more than the mean of all GPUs              */
#define IDLE_SHARE 0.05
enum { MAX_COMPARED = 64 }; /* GPUs                                     */

struct judge {
	const struct nsx_run *run;
	struct nsx_section *out;
	struct nsx_window w;
	double length;
	long long device_id;
};

/* The top kernel ------------------------------------------------------------------*/

static const char *advice_for(const char *category, const char *name)
{
	static const char *const advice[][2] = {
		{"gemm", "check its precision and shapes: TF32, BF16 or FP8 "
			 "where the model allows, dimensions that are "
			 "multiples of 16"},
		{"attention", "use a fused attention kernel "
			      "(scaled_dot_product_attention, FlashAttention) "
			      "for these shapes"},
		{"norm", "fuse it with its neighbours (torch.compile, a fused "
			 "norm)"},
		{"elementwise", "fuse it with its neighbours (torch.compile, "
				"nvFuser, a hand-written kernel): it is bound "
				"by memory traffic"},
		{"reduce", "fuse it with what produces its input"},
		{"moe", "check the balance of tokens over experts; use grouped "
			"GEMM"},
		{"memory", "avoid the copy or fill it makes: layouts, "
			   "contiguous(), zeroing of buffers"},
	};

	if (strcasestr(name, "flash") || strcasestr(name, "fmha"))
		return "it is fused already: try the version written for this "
		       "GPU (FlashAttention-3 on Hopper, cuDNN), packed "
		       "sequences instead of padding, a causal or window mask";
	for (size_t i = 0; i < ARRAY_LEN(advice); i++)
		if (!strcmp(advice[i][0], category))
			return advice[i][1];
	return NULL;
}

static void propose_kernel(struct judge *j, const struct path_kernel *top)
{
	const char *full = nsx_text(j->run->trace, top->name);
	const char *category, *advice;
	const char *name = nsx_md_name(j->out, full);
	double share = (double)top->ns / j->length;
	struct nsx_finding c = {
		.id = NSX_ID_top_kernel,
		.device = j->run->facts->limiting, .spans = top->spans,
		.recoverable = ASSUMED_GAIN, .confidence = NSX_CONF_LOW,
		.is_set = true, /* an assumption raises no alarm, ... */
		.is_rest = true,   /* ... nor takes time from what is measured */
		.proof = {{"critical_path", "total_ms", "ms",
			   {{"kind", nsx_string("kernel")},
			    {"name", nsx_string(full)}}}}};
	unsigned n = 0;

	if (share < KERNEL_SHARE) {
		if (top->name)
			nsx_fine(&j->out->found, "No kernel dominates: the first on "
				    "GPU %lld, %s, takes %.1f%% of the steady "
				    "window", j->device_id, name, 100 * share);
		return;
	}
	category = nsx_kernel_category_names[
		nsx_kernel_name(&j->run->facts->kernels, top->name)->category];
	advice = advice_for(category, full);
	c.title = nsx_say(j->out, "kernel %s takes %.1f%% of GPU %lld's time",
			  name, 100 * share, j->device_id);
	c.subject = full;
	c.evidence[0] = nsx_say(
		j->out, "%.3f ms on the critical path in %lld calls, %.2f us a "
		"call", (double)top->ns / 1e6, (long long)top->count,
		top->count ? (double)top->ns / 1e3 / (double)top->count : 0);
	c.evidence[1] = nsx_say(
		j->out, "priced as if better code saved %.0f%% of it: an "
		"assumption, not a measurement", 100 * ASSUMED_GAIN);
	if (advice)
		c.recommendation[n++] = nsx_say(j->out, "%s: %s", category,
						advice);
	c.recommendation[n] = "profile it with ncu --set full -k regex:NAME -c 5: "
			      "it tells whether memory, compute or latency "
			      "binds it";
	nsx_found(&j->out->found, &c);
}

/* Uneven GPUs ---------------------------------------------------------------------*/

static int64_t work_ns(const struct judge *j, uint32_t device)
{
	struct nsx_partition p;

	nsx_partition(&j->run->facts->device[device], j->w.start_ns,
		      j->w.end_ns, &p);
	return j->w.end_ns - j->w.start_ns - p.ns[NSX_P_IDLE] -
	       p.ns[NSX_P_COMM_EXPOSED];
}

static void say_even(struct judge *j, unsigned n, double mean, double most)
{
	nsx_fine(&j->out->found, "Work is even over %u GPUs: GPU %lld computes and "
		    "copies %.1f%% longer than their mean of %.3f ms", n,
		    j->device_id, 100 * (most / mean - 1), mean / 1e6);
}

/* When at least one of the other GPUs that count does not work. */
static int find_waits(struct judge *j, const bool *counts,
		      struct nsx_spans *ret, struct nsx_err *err)
{
	const struct nsx_facts *f = j->run->facts;
	struct nsx_arena *a = j->run->scratch;
	struct nsx_span whole = {j->w.start_ns, j->w.end_ns};
	struct nsx_spans all = {&whole, 1}, work, both;
	int rc;

	for (uint32_t i = 0; i < f->ndevices; i++) {
		const struct nsx_device_facts *d = &f->device[i];

		if (i == f->limiting || !counts[i])
			continue;
		if (nsx_spans_union(a, &d->compute, &d->copy, &work, err) ||
		    nsx_spans_intersect(a, &all, &work, &both, err))
			return err->rc;
		nsx_arena_drop(a, work.v);
		nsx_arena_drop(a, all.v);
		all = both;
	}
	rc = nsx_spans_gaps(a, &all, j->w.start_ns, j->w.end_ns, ret, err);
	nsx_arena_drop(a, all.v);
	return rc;
}

static int price_balance(struct judge *j, const bool *counts, double excess_ns,
			 struct nsx_finding *c, struct nsx_err *err)
{
	const struct nsx_device_facts *d =
		&j->run->facts->device[j->run->facts->limiting];
	struct nsx_spans work = {0}, waits = {0};
	double ns;

	if (find_waits(j, counts, &waits, err) ||
	    nsx_spans_union(j->run->scratch, &d->compute, &d->copy, &work,
			    err) ||
	    nsx_spans_intersect(j->out->arena, &work, &waits, &c->spans, err))
		return err->rc;
	nsx_arena_drop(j->run->scratch, work.v);
	nsx_arena_drop(j->run->scratch, waits.v);
	ns = (double)nsx_spans_total(&c->spans);
	c->recoverable = ns > 0 ? NSX_MIN(1, excess_ns / ns) : 0;
	return 0;
}

/* Whether GPUs did as many operations, but for 2 %: else they did different
 * work, and it may not be the GPU that is slow, nor the share of work wrong.
 */
static bool did_same(const struct judge *j, const bool *counts)
{
	size_t least = SIZE_MAX, most = 0;

	for (uint32_t i = 0; i < j->run->facts->ndevices; i++) {
		size_t n = nsx_ops_started(j->run->trace, i, j->w.start_ns,
					   j->w.end_ns);

		if (!counts[i])
			continue;
		least = NSX_MIN(least, n);
		most = NSX_MAX(most, n);
	}
	return (most - least) * 50 <= most;
}

/* Whether GPU times of one may be compared with those of another. */
static bool clocks_known(const struct judge *j)
{
	const struct nsx_trace *t = j->run->trace;

	for (uint32_t i = 0; i < t->nclocks; i++)
		if (nsx_clock_doubt_ns(t, t->clock[i].process,
				       t->clock[i].device) == INT64_MAX)
			return false;
	return true;
}

/* GPUs that do next to nothing take no part in the comparison.  Priced with the
 * instants at which the limiting GPU works and another does not.
 */
static int propose_balance(struct judge *j, struct nsx_err *err)
{
	const struct nsx_facts *f = j->run->facts;
	bool *counts = nsx_arena_get(j->run->scratch, f->ndevices);
	double most = (double)work_ns(j, f->limiting), sum = 0, mean;
	bool talk = true;
	unsigned n = 0;
	struct nsx_finding c = {
		.id = NSX_ID_uneven_gpus,
		.device = f->limiting,
		.proof = {{"partition", "total_ms", "ms",
			   {{"device_id", nsx_int(j->device_id)},
			    {"class", nsx_string("compute_only")}}}}};

	for (uint32_t i = 0; i < f->ndevices; i++) {
		double ns = (double)work_ns(j, i);

		counts[i] = ns >= 0.05 * j->length;
		sum += counts[i] ? ns : 0;
		n += counts[i];
		talk &= !counts[i] || f->device[i].comm.n > 0;
	}
	if (n < 2 || n > MAX_COMPARED || !clocks_known(j))
		return 0;
	mean = sum / n;
	if (most < (1 + UNEVEN) * mean) {
		say_even(j, n, mean, most);
		return 0;
	}
	if (price_balance(j, counts, most - mean, &c, err))
		return err->rc;
	c.confidence = talk ? NSX_CONF_MEDIUM : NSX_CONF_LOW;
	c.title = nsx_say(j->out, "GPU %lld works %.1f%% longer than the mean "
			  "of %u GPUs", j->device_id, 100 * (most / mean - 1),
			  n);
	c.evidence[0] = nsx_say(j->out, "%.3f ms of compute and copies, the "
				"mean is %.3f ms", most / 1e6, mean / 1e6);
	c.evidence[1] = talk ?
		"the GPUs communicate, so the others wait for it" :
		"not all of them communicate: they may do unrelated work";
	if (!did_same(j, counts)) {
		c.evidence[2] = "they did not do as many operations: this is "
				"how the work was shared, or other work, "
				"rather than a slow GPU";
		c.confidence = NSX_CONF_LOW;
		c.severity = NSX_SEV_LOW;
		c.is_set = true;
	}
	c.recommendation[0] = "spread the work evenly: pipeline stages of equal "
			      "cost, batches of equal token count, layers per "
			      "rank";
	nsx_found(&j->out->found, &c);
	return 0;
}

/* Idle time -----------------------------------------------------------------------*/

static int propose_idle(struct judge *j, struct nsx_err *err)
{
	const struct nsx_facts *f = j->run->facts;
	struct nsx_finding c = {
		.id = NSX_ID_gpu_idle, .device = f->limiting,
		.recoverable = 1, .confidence = NSX_CONF_MEDIUM, .is_rest = true,
		.proof = {{"partition", "total_ms", "ms",
			   {{"device_id", nsx_int(j->device_id)},
			    {"class", nsx_string("idle")}}}}};
	double share;

	if (nsx_idle_spans(&f->idle[f->limiting], &j->w, j->out->arena,
			   &c.spans, err))
		return err->rc;
	share = (double)nsx_spans_total(&c.spans) / j->length;
	if (share < IDLE_SHARE) {
		nsx_fine(&j->out->found, "GPU %lld, which sets the pace, is idle "
			    "for %.2f%% of the steady window", j->device_id,
			    100 * share);
		return 0;
	}
	c.title = nsx_say(j->out, "GPU %lld is idle for %.1f%% of the steady "
			  "window", j->device_id, 100 * share);
	c.evidence[0] = nsx_say(j->out, "%.3f ms in %zu gaps; what findings "
				"above price of it is not counted again",
				(double)nsx_spans_total(&c.spans) / 1e6,
				c.spans.n);
	c.recommendation[0] = "gpu_idle_by_cause.csv has the causes, "
			      "gpu_idle_gaps.csv the longest gaps";
	nsx_found(&j->out->found, &c);
	return 0;
}

int path_propose(const struct nsx_run *run, const struct path_kernel *top,
		 struct nsx_section *out, struct nsx_err *err)
{
	struct judge j = {.run = run, .out = out, .w = nsx_judged(run->facts)};
	int rc;

	j.length = (double)(j.w.end_ns - j.w.start_ns);
	j.device_id =
		(long long)run->trace->device[run->facts->limiting].device_id;
	propose_kernel(&j, top);
	rc = propose_balance(&j, err);
	return rc ? rc : propose_idle(&j, err);
}
