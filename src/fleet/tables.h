/* tables.h - columns of the fleet report's tables: filled in tables.c, shown in report_md.c. */
#pragma once

#include "report/table.h"

#define RANK_COLUMNS(X)                                                                            \
	X(R_RANK, "rank", I64, "number in the job")                                                \
	X(R_HOST, "host", I64, "host, numbered by hash")                                           \
	X(R_MESH, "mesh", STR, "where it lies on the axes of --mesh")                              \
	X(R_FROM, "rank_from", STR, "how the number is known")                                     \
	X(R_GPU, "gpu_model", STR, "model of its GPU")                                             \
	X(R_STEPS, "steps", I64, "of the fleet's steps, that it took part in")                     \
	X(R_OWN, "own_ms", F64, "of a step, not waiting for others")                               \
	X(R_EXCESS, "excess_ms", F64, "of it, over the other ranks' median")                       \
	X(R_EXCESS_PCT, "excess_pct", F64, "the same of a step", .title = "of a step")             \
	X(R_COLLS, "collectives", I64, "matched with other ranks")                                 \
	X(R_LAST, "came_last", I64, "of them, to which it came last")                              \
	X(R_INDUCED, "induced_ms", F64, "by that, before the median arrival")                      \
	X(R_WAITED, "waited_ms", F64, "for whoever came last")                                     \
	X(R_KERNELS, "kernels_per_step", F64, "that do not communicate")                           \
	X(R_KERNEL_MS, "kernel_ms_per_step", F64, "sum of their lengths")                          \
	X(R_IDLE, "idle_ms_per_step", F64, "no GPU work at all")                                   \
	X(R_LAUNCH, "launch_us", F64, "mean of a launch call")                                     \
	X(R_GBPS, "copy_gbps", F64, "bytes copied in the time of copies")                          \
	X(R_PEAK, "peak_bytes", I64, "most GPU memory in use")
NSX_COLUMN_IDS(RANK_COLUMNS);
#define COLL_COLUMNS(X)                                                                            \
	X(C_COMM, "communicator", I64, "numbered as found")                                        \
	X(C_KIND, "kind", STR, "nccl or mpi")                                                      \
	X(C_OP, "op_name", STR, "operation", .title = "operation")                                 \
	X(C_BYTES, "bytes", I64, "size, where payloads say it")                                    \
	X(C_AXIS, "axis", STR, "of --mesh, or as it looks, that they lie along")                   \
	X(C_RANKS, "ranks", STR, "that take part")                                                 \
	X(C_HOSTS, "n_hosts", I64,                                                                 \
	  "that these are on: of several the links between them count", .title = "hosts")          \
	X(C_COUNT, "count", I64, "matched collectives", .adds = true)                              \
	X(C_TRANSFER, "transfer_us", F64, "mean of the least length")                              \
	X(C_BEST, "best_transfer_us", F64,                                                         \
	  "the least of the communicators that do the same", .title = "best seen")                 \
	X(C_GBPS, "gbps", F64, "size over transfer; not where latency rules it", .title = "GB/s")  \
	X(C_WAIT, "wait_us", F64, "mean wait of a rank")                                           \
	X(C_SHARE, "wait_pct", F64, "of the ranks' time in them", .title = "share waited")         \
	X(C_CLASS, "class", STR,                                                                   \
	  "transfer (or waiting for a rank that is absent), arrival, mixed or inconclusive")       \
	X(C_LAST, "late_rank", I64, "that came last most often")                                   \
	X(C_TIMES, "late_times", I64, "how often")
NSX_COLUMN_IDS(COLL_COLUMNS);
#define SPREAD_COLUMNS(X)                                                     \
	X(M_OP, "op_name", STR, "operation", .title = "operation")            \
	X(M_RANKS, "n_ranks", I64, "that call it", .title = "ranks")          \
	X(M_LEAST, "least_ms", F64, "the least time a rank spends in it, of all its trace") \
	X(M_LEAST_RANK, "least_rank", I64, "that rank")                       \
	X(M_MOST, "most_ms", F64, "the most")                                 \
	X(M_MOST_RANK, "most_rank", I64, "that rank")                         \
	X(M_CALLS, "most_calls", I64, "its calls", .title = "its calls")      \
	X(M_STEPS, "most_in_steps_ms", F64, "of its time, in the judged steps", \
	  .title = "of that in judged steps")                                 \
	X(M_DIFFERENCE, "difference_ms", F64, "most less least")
NSX_COLUMN_IDS(SPREAD_COLUMNS);
#define FRONTIER_COLUMNS(X)                                                   \
	X(F_STAGE, "stage", I64, "up to this collective of the step, from 0") \
	X(F_RANK, "rank", I64, "that came last to it")                        \
	X(F_TIMES, "times", I64, "steps in which it did", .adds = true)       \
	X(F_TOTAL, "total_ns", I64, "of the steps; all rows add up to them", .adds = true) \
	X(F_WORK, "work_ns", I64, "that the median rank needed too", .adds = true) \
	X(F_COMPUTE, "excess_compute_ns", I64, "beyond that: kernels", .adds = true) \
	X(F_COPY, "excess_copy_ns", I64, "copies", .adds = true)              \
	X(F_IDLE, "excess_idle_ns", I64, "idle", .adds = true)                \
	X(F_OTHER, "excess_other_ns", I64, "not told", .adds = true)          \
	X(F_TRANSFER, "transfer_ns", I64, "moving data, all ranks there", .adds = true)
NSX_COLUMN_IDS(FRONTIER_COLUMNS);
#define CLOCK_COLUMNS(X)                                                                           \
	X(K_HOST, "host", I64, "whose clock; empty: of one capture")                               \
	X(K_RANKS, "ranks", STR, "on it")                                                          \
	X(K_LO, "lo_us", F64, "ahead of the first clock at least", .title = "at least")            \
	X(K_HI, "hi_us", F64, "at most", .title = "at most")                                       \
	X(K_OFFSET, "offset_us", F64, "where ends agree best")                                     \
	X(K_DRIFT, "drift_ppm", F64, "taken out; 0: less than 1", .title = "drift, ppm")           \
	X(K_RESIDUAL, "residual_us", F64,                                                          \
	  "median disagreement of ends", .title = "disagreement of ends")                          \
	X(K_N, "n", I64, "collectives compared", .title = "collectives")
NSX_COLUMN_IDS(CLOCK_COLUMNS);
#define STEPS_COLUMNS(X)                                                       \
	X(S_STEP, "step", I64, "from 0")                                      \
	X(S_WALL, "wall_ms", F64, "from common end to common end", .adds = true) \
	X(S_RANKS, "ranks", I64, "that were recorded in it")                  \
	X(S_LAST, "slowest_rank", I64, "with most own time")                  \
	X(S_EXCESS, "excess_ms", F64, "of it, over the other ranks' median")
NSX_COLUMN_IDS(STEPS_COLUMNS);
#define FINDING_COLUMNS(X)                                                    \
	X(N_RANK, "rank", I64, "from 1, most expensive first")                       \
	X(N_SEVERITY, "severity", STR, "high, medium or low")                 \
	X(N_CATEGORY, "category", STR, "what it concerns")                    \
	X(N_TITLE, "title", STR, "what it is")                                \
	X(N_HEADROOM, "headroom_ms", F64, "of all steps")                     \
	X(N_PER_STEP, "recoverable_ms_per_step", F64, "of one")               \
	X(N_CONFIDENCE, "confidence", STR, "in cause and price")
NSX_COLUMN_IDS(FINDING_COLUMNS);
#define OUTLIER_COLUMNS(X)                                                    \
	X(O_RANKS, "ranks", STR, "one, or all of a host")                     \
	X(O_HOST, "host", I64, "their host")                                  \
	X(O_METRIC, "metric", STR, "column of ranks.csv")                     \
	X(O_VALUE, "value", F64, "of the rank; the mean of several")          \
	X(O_MEDIAN, "median", F64, "of all")                                  \
	X(O_Z, "z", F64, "distance in median deviations")
NSX_COLUMN_IDS(OUTLIER_COLUMNS);
#define SHARED_COLUMNS(X)                                                                          \
	X(H_KEY, "finding", STR, "of the reports of single ranks")                                 \
	X(H_TITLE, "title", STR,                                                                   \
	  "as the rank with most says it", .title = "finding", .is_prose = true)                   \
	X(H_SEVERITY, "severity", STR, "the highest: high, medium or low")                         \
	X(H_N, "n_ranks", I64, "that have it", .title = "ranks")                                   \
	X(H_RANKS, "ranks", STR, "which")                                                          \
	X(H_MEDIAN, "median_pct", F64,                                                             \
	  "that can be won, of a rank's judged window", .title = "median rank")                    \
	X(H_MOST, "most_pct", F64, "the same of the rank with most", .title = "most")              \
	X(H_WORST, "most_rank", I64, "which that is", .title = "of rank")                          \
	X(H_MEAN, "mean_pct", F64,                                                                 \
	  "the same of all ranks, those without it too", .title = "all ranks")
NSX_COLUMN_IDS(SHARED_COLUMNS);
#define KERNEL_COLUMNS(X)                                                     \
	X(Y_NAME, "kernel", STR, "base name")                                 \
	X(Y_N, "n_ranks", I64, "that run it")                                 \
	X(Y_COUNT, "count", I64, "executions", .adds = true)                  \
	X(Y_TOTAL, "total_ms", F64, "sum of their lengths", .adds = true)     \
	X(Y_P50, "p50_us", F64, "median length over all ranks, to 1 %")       \
	X(Y_P95, "p95_us", F64, "95th percentile, to 1 %")                    \
	X(Y_SLOWEST, "slowest_rank", I64, "where its mean length is greatest") \
	X(Y_RATIO, "slowest_ratio", F64, "that over the median rank's")
NSX_COLUMN_IDS(KERNEL_COLUMNS);
#define ENGINE_COLUMNS(X)                                                                          \
	X(E_RANKS, "ranks", STR, "that work together")                                             \
	X(E_HOST, "host", I64, "of the first of them")                                             \
	X(E_STEPS, "steps", I64, "of the engine")                                                  \
	X(E_COMPARED, "compared", I64, "of them, whose kind and size other engines have, too")     \
	X(E_TOOK, "step_ms", F64, "mean of the medians of these, by kind and size")                \
	X(E_EXPECTED, "expected_step_ms", F64, "that the other engines take for them",             \
	  .title = "the others take")                                                              \
	X(E_OVER, "slower_pct", F64, "by which the first exceeds the second", .title = "longer by") \
	X(E_KERNEL_MS, "kernel_ms_per_step", F64, "sum of kernels' lengths")                       \
	X(E_CAUSE, "cause", STR, "of the excess, if it is beyond chance")
NSX_COLUMN_IDS(ENGINE_COLUMNS);

/* The tables in order of their files: id, columns, key in JSON, name of the file. */
#define NSX_FLEET_TABLES(X)                                                                        \
	X(NSX_FT_RANKS, RANK_COLUMNS, "ranks", "ranks", .json_rows = NSX_ALL_ROWS)                 \
	X(NSX_FT_COLLECTIVES, COLL_COLUMNS, "collectives", "collectives")                          \
	X(NSX_FT_IMBALANCE, SPREAD_COLUMNS, "imbalance", "imbalance")                              \
	X(NSX_FT_FRONTIER, FRONTIER_COLUMNS, "frontier", "frontier")                               \
	X(NSX_FT_CLOCK, CLOCK_COLUMNS, "clocks", "clock", .json_rows = NSX_ALL_ROWS)               \
	X(NSX_FT_STEPS, STEPS_COLUMNS, "step_times", "steps")                                       \
	X(NSX_FT_FINDINGS, FINDING_COLUMNS, NULL, "findings")                                      \
	X(NSX_FT_OUTLIERS, OUTLIER_COLUMNS, "outliers", "outliers")                                \
	X(NSX_FT_SHARED, SHARED_COLUMNS, "rank_findings", "rank_findings")                         \
	X(NSX_FT_KERNELS, KERNEL_COLUMNS, "kernels", "kernels")                                    \
	X(NSX_FT_ENGINES, ENGINE_COLUMNS, "engines", "engines")
enum { NSX_FLEET_TABLES(NSX_COLUMN_ID) NSX_NFTABLES };
