/* steps.h - tables and data of the section Steps. */
#pragma once

#include "facts/steps/steps.h"
#include "passes/pass.h"

/* The tables, and the columns of all tables but ROWS. SIZES has the columns of KINDS. */
enum { KINDS, SIZES, LAYERS, UNSURE, ROWS };
#define GROUP_COLUMNS(X)                                                                      \
	X(ENGINE, "engine", STR, "engine or framework that named the ranges")                 \
	X(KIND, "kind", STR, "decode, prefill, mixed, idle or training")                      \
	X(SIZE, "size", STR,                                                                  \
	  "class of requests that decode, or of prompt tokens; null: all sizes")              \
	X(COUNT, "count", I64, "steps on a device")                                           \
	X(GPUS, "gpu_count", I64, "GPUs with such steps")                                     \
	X(REQUESTS, "request_count", I64, "requests in these steps; null: not known")         \
	X(TOKENS, "token_count", I64, "tokens in these steps; null: not known")               \
	X(P50, "p50_ms", F64, "median GPU time of a step")                                    \
	X(P95, "p95_ms", F64, "95th percentile of the GPU time of a step")                    \
	X(TOTAL, "total_ns", I64, "GPU time of all these steps")                              \
	X(COMPUTE, "compute_ns", I64, "part of total_ns in which a kernel computes")          \
	X(HIDDEN, "comm_hidden_ns", I64, "part of compute_ns with communication beside it")   \
	X(COMM, "comm_exposed_ns", I64, "part of total_ns in which only communication runs")  \
	X(COPY, "copy_exposed_ns", I64, "part of total_ns in which only copies run")          \
	X(IDLE, "idle_inside_ns", I64,                                                        \
	  "idle part of total_ns before the end of a step's last work")                       \
	X(BETWEEN, "idle_between_ns", I64, "idle part of total_ns after a step's last work")  \
	X(SCHEDULER, "scheduler_ns", I64,                                                     \
	  "part of idle_between_ns in which the thread is between two steps' ranges")         \
	X(BUSY, "busy_pct", F64, "share of total_ns in which something runs")                 \
	X(HOST, "host_p50_ms", F64, "median length of the ranges on the host")                \
	X(GAP, "host_gap_p50_ms", F64,                                                        \
	  "median time on the thread from the end of a range to the next step's")             \
	X(LAUNCHES, "launch_count", I64, "calls that launch")                                 \
	X(MISSED, "graph_missed_count", I64,                                                  \
	  "steps without a graph replay, if others of the kind have one; null: none has")     \
	X(MISSED_LEAST, "graph_missed_least", I64, "least size of these steps; null: no size")\
	X(MISSED_MOST, "graph_missed_most", I64, "greatest size of these steps")              \
	X(MISSED_OF, "graph_missed_of", I64, "steps of these two sizes and those between")    \
	X(MISSED_P50, "graph_missed_p50_ms", F64, "median GPU time of these steps")           \
	X(REPLAYED_P50, "graph_replayed_p50_ms", F64, "median GPU time of the others")        \
	X(MFU, "mfu_pct", F64,                                                                \
	  "model FLOPs as a share of the GPU's peak; null: no --model, or it does not fit")   \
	X(BANDWIDTH, "bandwidth_pct", F64,                                                    \
	  "one read of weights and KV cache as a share of the memory's peak; null: the same") \
	X(STALL, "stall_ns", I64, "GPU time of prefills that requests in decode wait for")
NSX_COLUMN_IDS(GROUP_COLUMNS);
#define LAYER_COLUMNS(X)                                                                         \
	X(L_ENGINE, "engine", STR, "engine or framework that named the ranges")                  \
	X(L_KIND, "kind", STR, "kind of the steps")                                              \
	X(L_LAYER, "layer", STR, "purpose of kernels by their names; inside CUDA graphs traced " \
				 "as a whole; or another use of the time")                       \
	X(L_NS, "total_ns", I64, "GPU time of this layer in these steps")                        \
	X(L_PCT, "pct_of_steps", F64, "share of the steps' GPU time")
NSX_COLUMN_IDS(LAYER_COLUMNS);
#define UNSURE_COLUMNS(X)                                                                \
	X(U_NAME, "kernel_name", STR, "kernel whose purpose is not clear from its name") \
	X(U_NS, "total_ns", I64, "computing time in steps")                              \
	X(U_PCT, "pct_of_compute", F64, "share of the computing time of all steps")
NSX_COLUMN_IDS(UNSURE_COLUMNS);

/* A step, and the work of its device during the step. */
struct steps_timed {
	const struct nsx_engine_step *step;
	int size; /* size class n holds 2^n to 2^(n+1) - 1; -1: none         */
	int64_t ns[SCHEDULER - TOTAL + 1]; /* columns TOTAL to SCHEDULER of its row */
};
#define STEPS_NS(x, column) ((x)->ns[(column) - TOTAL])
struct steps_work {
	const struct nsx_run *run;
	struct nsx_section *out;
	struct nsx_table **table;
	const struct nsx_engine_steps *steps;
	struct steps_timed *v; /* sorted by kind, engine, size                     */
	int64_t *scratch, total_ns; /* total_ns is the GPU time of all steps */
	uint32_t *group; /* for each step: its row of KINDS */
	size_t *sizes_at; /* for each row of KINDS: its first row of SIZES */
	bool *has_steps;  /* one for each device */
	const char **page;
	size_t n, npage;
	bool refused; /* a share above the GPU's peak was left out */
};
struct steps_layer {
	const char *name;
	int64_t ns;
};

/* Adds the tables of layers and of kernels that no layer fits, and a bullet for each kind. */
int steps_add_layers(struct steps_work *w, struct nsx_err *err);
enum { STEPS_LINES = 5 }; /* the first page has at most this many lines for a kind */
/* Describes a row of KINDS in a bullet and, for engines, in lines of the first page. Its rows of
 * SIZES begin at sizes_at; its n layers at v.
 */
void steps_tell_kind(struct steps_work *w, const struct nsx_cell *kind, size_t sizes_at,
		     const struct steps_layer *v, size_t n);
