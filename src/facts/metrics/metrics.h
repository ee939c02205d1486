/* metrics.h - statistics of sampled GPU counters, computed while reading.
 *
 * A sample at t stands for the period [t, t + period). On real captures of two GPU generations the
 * busy share of kernels in that period agrees with SM Active (correlation 0.99), but that of the
 * period before does not (0.3 to 0.5). A sample belongs to a scope by the share of its period that
 * the scope covers. Means are weighted by that share, and the maximum is over all samples in the
 * mean. Counts and quantiles use samples of which the scope covers at least half, and for the
 * window any part.
 */
#pragma once

#include "facts/facts.h"

enum nsx_scope {
	NSX_SCOPE_WINDOW, NSX_SCOPE_COMPUTE, NSX_SCOPE_COMM, NSX_SCOPE_COPY,
	NSX_SCOPE_IDLE, NSX_NSCOPES
};
extern const char *const nsx_scope_names[NSX_NSCOPES]; /* "window", ... */

struct nsx_metric_scope {
	size_t n;
	int64_t weight_ns;	/* sampled time in the scope; 0: none        */
	double mean, p50, p95;	/* NAN: no samples                           */
	double max;		/* over samples with any time in the scope   */
	double max_inside;	/* over the n samples                        */
	double coverage;	/* sampled share of the scope, 0..1          */
};

struct nsx_metric { /* one counter of one GPU */
	int64_t type_id, metric_id;
	int64_t source_id; /* source of the type; the type itself if not recorded */
	const char *name;  /* NULL: unnamed; freed with the facts, before the report */
	uint32_t device;   /* index; NSX_NONE: not in the trace              */
	int64_t gpu;	   /* number of the GPU; -1: unknown                 */
	int64_t device_id; /* CUDA ordinal; equal to gpu if ordinals are ambiguous */
	int64_t period_ns;
	size_t n; /* samples that overlap a user's window                    */
	struct nsx_metric_scope scope[NSX_NSCOPES];
	double mean_without_comm; /* weighted by time without communication; NAN: none */
	double comm_correlation;  /* between value and share of the period under communication;
				     NAN: one is constant, or fewer than 20 samples */
	bool exact; /* quantiles are exact; else they are within 2 %         */
	const float *curve; /* means in the parts of the window that nsx_bin counts; NAN: no
			       sample; NULL: not requested                   */
};

struct nsx_metric_loss { /* invalid samples of a counter */
	int64_t gpu, type_id, metric_id, n;
	const char *name; /* NULL: unnamed; freed with the facts */
};

struct nsx_metrics {
	struct nsx_metric *v; /* sorted by GPU, metric, type                 */
	size_t n;
	struct nsx_metric_loss *lost; /* sorted by GPU, metric, type         */
	size_t nlost;
	int64_t samples, bad; /* number of rows; of rows without a valid value */
	size_t gaps;	      /* gaps of more than one missing sample        */
	int64_t missing_ns;   /* time in these gaps, summed over GPUs        */
	size_t without_period; /* counters with a single sample              */
	bool by_number; /* device_id is gpu, because ordinals of sampled GPUs are ambiguous */
	bool too_many;	      /* too many counters to keep apart             */
	const char *damage;   /* why the table was not read to its end       */
};

/* Counters that are recognised in any spelling of their names. All are in percent of the peak. */
enum nsx_counter {
	NSX_GR_ACTIVE, NSX_SM_ACTIVE, NSX_SM_ISSUE, NSX_TENSOR_ACTIVE,
	NSX_WARPS_IN_FLIGHT, NSX_DRAM_READ, NSX_DRAM_WRITE, NSX_PCIE_RX,
	NSX_PCIE_TX, NSX_NCOUNTERS
};
struct nsx_counters { /* the counters of one GPU; NULL: not sampled */
	const struct nsx_metric *of[NSX_NCOUNTERS];
};
bool nsx_is_same_gpu(const struct nsx_metric *x, const struct nsx_metric *y);
const char *nsx_counter_name(enum nsx_counter k);
/* The greatest value of a counter with this name (NULL: none). Greater and negative ones are no
 * samples.
 */
int64_t nsx_metric_most(const char *name);
void nsx_counters_add(struct nsx_counters *c, const struct nsx_metric *m);
/* The counters of a device. */
struct nsx_counters nsx_counters_of(const struct nsx_metrics *m, uint32_t device);
/* Returns what a counter shows in a scope, and DRAM reads and writes together: the median while
 * kernels compute, the mean otherwise; NAN: not sampled.
 */
double nsx_counter_typical(const struct nsx_counters *c, enum nsx_counter which,
			   enum nsx_scope scope);
double nsx_dram_typical(const struct nsx_counters *c, enum nsx_scope scope);

/* The bottleneck of kernels, by our own thresholds. Memory: at least 80 % of DRAM's peak. Compute:
 * at least 60 % of issue slots or tensor cycles. Latency: at least 60 % of SMs active, and less
 * than 30 % of issue slots used. Unfilled: less than 60 % of SMs active.
 */
enum nsx_bound {
	NSX_BOUND_UNKNOWN, /* DRAM was not sampled */
	NSX_BOUND_MEMORY, NSX_BOUND_COMPUTE, NSX_BOUND_LATENCY,
	NSX_BOUND_UNFILLED, NSX_BOUND_NEITHER
};
enum nsx_bound nsx_bound_by(const struct nsx_counters *c, enum nsx_scope scope);

/* Reads the samples once (twice if they are neither regular nor sorted). f->metrics stays
 * NULL if the trace has none. Owner: the arena.
 */
int nsx_facts_metrics(struct nsx_facts *f, const struct nsx_trace *t,
		      const struct nsx_facts_opts *o, struct nsx_arena *a,
		      struct nsx_err *err) NSX_CHECKED;
