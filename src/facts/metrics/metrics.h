/* metrics.h - sampled GPU counters, folded while they stream by.
 *
 * A sample at t stands for the period that begins at t, [t, t + period): on
 * real captures of two GPU generations the busy share of kernels agrees with
 * SM Active there (correlation 0.99) and not in the period before (0.3 to
 * 0.5).  It belongs to a scope by the share of that period the scope covers:
 * means are weighted by it, and the maximum is of all samples that a mean is
 * of; counts and quantiles take the samples of which the scope covers at least
 * half (of the window: any part).
 */
#ifndef NSX_METRICS_H
#define NSX_METRICS_H

#include "facts/facts.h"

enum nsx_scope {
	NSX_SCOPE_WINDOW, NSX_SCOPE_COMPUTE, NSX_SCOPE_COMM, NSX_SCOPE_COPY,
	NSX_SCOPE_IDLE, NSX_NSCOPES
};
extern const char *const nsx_scope_names[NSX_NSCOPES]; /* "window", ... */

struct nsx_metric_scope {
	size_t n;
	int64_t weight_ns;	/* sampled time inside the scope; 0: none    */
	double mean, p50, p95;	/* NAN: no sample                            */
	double max;		/* of all with any time in the scope         */
	double max_inside;	/* of the n                                  */
	double coverage;	/* sampled share of the scope's time, 0..1   */
};

struct nsx_metric { /* a counter of one GPU */
	int64_t type_id, metric_id;
	int64_t source_id; /* of the type; the type itself if not recorded   */
	const char *name;  /* NULL: nothing names it; goes with the facts,
			      before the report                              */
	uint32_t device;   /* index; NSX_NONE: no device of the trace        */
	int64_t gpu;	   /* number of the GPU; -1 unknown                  */
	int64_t device_id; /* CUDA ordinal, else gpu; see by_number          */
	int64_t period_ns;
	size_t n; /* samples; with a user's window those that touch it       */
	struct nsx_metric_scope scope[NSX_NSCOPES];
	double mean_without_comm; /* weighted by the share without; NAN      */
	double comm_correlation;  /* of value and share under communication;
				     NAN: fewer than 20 samples, or constant */
	bool exact; /* quantiles; else within 2 %                            */
	const float *curve; /* means of nsx_bin's parts of the window; NAN:
			       no sample stands for that time; NULL: not
			       asked for                                     */
};

struct nsx_metric_loss { /* samples of a counter without a usable value */
	int64_t gpu, type_id, metric_id, n;
	const char *name; /* as in nsx_metric */
};

struct nsx_metrics {
	struct nsx_metric *v; /* by GPU, metric, type                        */
	size_t n;
	struct nsx_metric_loss *lost; /* by GPU, metric, type                */
	size_t nlost;
	int64_t samples, bad; /* rows; those without a usable value          */
	size_t gaps;	      /* where more than one sample is missing       */
	int64_t missing_ns;   /* in them, summed over GPUs                   */
	size_t without_period; /* counters with one sample only              */
	bool by_number; /* device_id is gpu: the ordinals do not tell the
			   sampled GPUs apart                                */
	bool too_many;	      /* more counters than can be told apart        */
	const char *damage;   /* the table could not be read to its end      */
};

/* Counters known by name, in all their spellings; percent of the peak only. */
enum nsx_counter {
	NSX_GR_ACTIVE, NSX_SM_ACTIVE, NSX_SM_ISSUE, NSX_TENSOR_ACTIVE,
	NSX_WARPS_IN_FLIGHT, NSX_DRAM_READ, NSX_DRAM_WRITE, NSX_PCIE_RX,
	NSX_PCIE_TX, NSX_NCOUNTERS
};
struct nsx_counters { /* of one GPU; NULL: not sampled                       */
	const struct nsx_metric *of[NSX_NCOUNTERS];
};
const char *nsx_counter_name(enum nsx_counter k);
void nsx_counters_add(struct nsx_counters *c, const struct nsx_metric *m);
/* Those of a device. */
struct nsx_counters nsx_counters_of(const struct nsx_metrics *m,
				    uint32_t device);
/* Mean in a scope, and of DRAM reads and writes together; NAN: not sampled. */
double nsx_counter_mean(const struct nsx_counters *c, enum nsx_counter which,
			enum nsx_scope scope);
double nsx_dram_mean(const struct nsx_counters *c, enum nsx_scope scope);

/* What holds kernels up, by thresholds of ours: memory from 80 % of DRAM's peak;
 * compute from 60 % of the issue slots or tensor cycles; latency where at least
 * 60 % of the SMs are active and less than 30 % of the slots issue; the SMs not
 * filled below 60 %.
 */
enum nsx_bound {
	NSX_BOUND_UNKNOWN, /* DRAM was not sampled */
	NSX_BOUND_MEMORY, NSX_BOUND_COMPUTE, NSX_BOUND_LATENCY,
	NSX_BOUND_UNFILLED, NSX_BOUND_NEITHER
};
enum nsx_bound nsx_bound_by(const struct nsx_counters *c, enum nsx_scope scope);

/* Reads the samples once (twice where they are neither regular nor in order).
 * f->metrics stays NULL where the trace has none; what it holds is the arena's.
 */
int nsx_facts_metrics(struct nsx_facts *f, const struct nsx_trace *t,
		      const struct nsx_facts_opts *o, struct nsx_arena *a,
		      struct nsx_err *err) NSX_CHECKED;

#endif
