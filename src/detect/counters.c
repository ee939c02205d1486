/* counters.c - what GPU counters say of kernels that no timeline shows: that the
 * memory is full, or that they wait on latency. What better code would win is
 * not in them: these findings have no price.
 */
#include "detect/detect.h"
#include "facts/metrics/metrics.h"

#define LEAST_COMPUTE 0.5 /* of the judged window */
enum { FEWEST = 10 };	  /* samples while kernels compute */

static bool computes_mostly(const struct nsx_detect *d, uint32_t device)
{
	struct nsx_partition p;

	nsx_partition(&d->facts->device[device], d->w.start_ns, d->w.end_ns,
		      &p);
	return (double)(p.ns[NSX_P_COMPUTE_ONLY] + p.ns[NSX_P_COMPUTE_COPY] +
			p.ns[NSX_P_COMPUTE_COMM]) >=
	       LEAST_COMPUTE * (double)(d->w.end_ns - d->w.start_ns);
}

static void say_memory(struct nsx_findings *l, const struct nsx_counters *c,
		       const char *gpu, struct nsx_finding *f)
{
	f->id = NSX_ID_memory_bound;
	f->title = nsx_tell(l, "memory is what limits the kernels of GPU %s",
			    gpu);
	f->evidence[0] = nsx_tell(
		l, "while kernels compute, DRAM runs at %.1f %% of its peak; "
		"from 80 %% on it is the limit",
		nsx_dram_mean(c, NSX_SCOPE_COMPUTE));
	f->recommendation[0] =
		"move fewer bytes: fuse kernels that pass arrays through "
		"memory, use narrower types, reuse data from shared memory and "
		"L2";
	f->recommendation[1] = "faster arithmetic, tensor cores included, wins "
			       "nothing meanwhile";
}

static void say_latency(struct nsx_findings *l, const struct nsx_counters *c,
			const char *gpu, struct nsx_finding *f)
{
	f->id = NSX_ID_latency_bound;
	f->title = nsx_tell(l, "kernels of GPU %s wait on latency: neither "
			    "memory nor arithmetic is near its limit",
			    gpu);
	f->evidence[0] = nsx_tell(
		l, "while kernels compute, %.1f %% of the SMs are active, but "
		"%.1f %% of the issue slots are used, and DRAM runs at %.1f %% "
		"of its peak",
		nsx_counter_mean(c, NSX_SM_ACTIVE, NSX_SCOPE_COMPUTE),
		nsx_counter_mean(c, NSX_SM_ISSUE, NSX_SCOPE_COMPUTE),
		nsx_dram_mean(c, NSX_SCOPE_COMPUTE));
	f->evidence[1] = "latency is named where SMs are active for 60 % or "
			 "more, fewer than 30 % of the issue slots are used, and "
			 "DRAM is below 80 %";
	f->recommendation[0] =
		"keep more loads in flight: more independent work a thread "
		"(unrolling, wide loads, asynchronous copies to shared memory)";
	f->recommendation[1] =
		"or more warps an SM: fewer registers and less shared memory a "
		"block (occupancy is in kernel_shapes.csv)";
}

int nsx_detect_counters(struct nsx_detect *d, struct nsx_err *err NSX_UNUSED)
{
	uint32_t dev = d->facts->limiting;
	struct nsx_counters c = nsx_counters_of(d->facts->metrics, dev);
	enum nsx_bound bound = nsx_bound_by(&c, NSX_SCOPE_COMPUTE);
	bool is_memory = bound == NSX_BOUND_MEMORY;
	struct nsx_finding f = {.device = dev, .confidence = NSX_CONF_MEDIUM};
	const struct nsx_metric *m;

	if ((!is_memory && bound != NSX_BOUND_LATENCY) ||
	    !computes_mostly(d, dev))
		return 0;
	m = c.of[is_memory ? NSX_DRAM_READ : NSX_SM_ISSUE];
	if (m->scope[NSX_SCOPE_COMPUTE].n < FEWEST)
		return 0;
	(is_memory ? say_memory : say_latency)(
		d->found, &c, nsx_gpu_label(d->trace, dev), &f);
	f.evidence[1] = "what other code would win is not in counters: no price";
	f.proof[0] = (struct nsx_evidence){
		.csv = "gpu_metrics", .column = "mean",
		.at = {{"metric_name",
			nsx_string(nsx_tell(d->found, "%s", m->name))},
		       {"scope", nsx_string("compute")}}};
	nsx_found(d->found, &f);
	return 0;
}
