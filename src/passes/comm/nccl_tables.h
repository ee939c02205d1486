/* nccl_tables.h - columns of the section nccl, which several files fill. */
#ifndef NCCL_TABLES_H
#define NCCL_TABLES_H

#include "report/table.h"

#define NCCL_OP_COLUMNS(X)                                                                     \
	X(NCCL_OP, "op_name", STR, "collective, or the base name of another kernel")           \
	X(NCCL_RAW, "raw_name_example", STR, "first of the full names in text order")          \
	X(NCCL_SOURCE, "source", STR, "kernel, or nvtx if the trace has no GPU work")          \
	X(NCCL_COUNT, "count", I64, "executions that began in the window", .adds = true)       \
	X(NCCL_TOTAL, "total_time_ms", F64, "sum of durations", .adds = true)                  \
	X(NCCL_MAX, "max_duration_ms", F64, "longest")                                         \
	X(NCCL_AVG, "avg_duration_us", F64, "total over count")                                \
	X(NCCL_OVERLAP, "compute_overlap_ms", F64,                                             \
	  "part of total_time_ms during which the device also computes")                       \
	X(NCCL_OVERLAP_PCT, "compute_overlap_pct", F64, "share of total_time_ms")              \
	X(NCCL_STRAGGLER, "straggler", STR,                                                    \
	  "the rank that comes late, or the only rank")                                        \
	X(NCCL_STRAGGLER_TOTAL, "straggler_total_ms", F64, "sum of the straggler's durations") \
	X(NCCL_STRAGGLER_MAX, "straggler_max_ms", F64, "longest duration of the straggler")    \
	X(NCCL_EXPOSED, "exposed_ms", F64,                                                     \
	  "union without compute on each device, summed over devices", .adds = true)           \
	X(NCCL_DEVICES, "device_ids", STR, "CUDA ordinals")                                    \
	X(NCCL_WAITING, "waiting_rank", STR, "the rank that waits most")
NSX_COLUMNS(nccl_op_cols, NCCL_OP_COLUMNS);
#define NCCL_RANK_COLUMNS(X)                                                                       \
	X(NCCL_RANK_OP, "op_name", STR, "collective")                                              \
	X(NCCL_RANK_LABEL, "rank_label", STR, "participant")                                       \
	X(NCCL_RANK_TOTAL, "total_time_ms", F64, "sum of the rank's durations, including "         \
						 "waiting")                                        \
	X(NCCL_RANK_MAX, "max_duration_ms", F64, "longest")                                        \
	X(NCCL_RANK_SKEW, "skew_vs_median_pct", F64,                                               \
	  "total relative to the median of the ranks; the rank that waits has the larger total")   \
	X(NCCL_RANK_LAST, "times_last", I64, "matched instances in which the rank comes last")     \
	X(NCCL_RANK_WAITED, "waited_ms", F64, "from the rank's start to the start of the last "    \
					      "rank")                                              \
	X(NCCL_RANK_INDUCED, "induced_ms", F64, "the others' median wait for this rank")           \
	X(NCCL_RANK_JUDGED, "judged_waited_ms", F64,                                               \
	  "part of waited_ms in the judged window", .is_judged = true)
NSX_COLUMNS(nccl_rank_cols, NCCL_RANK_COLUMNS);
#define NCCL_PID_COLUMNS(X)                                                   \
	X(NCCL_PID, "pid", I64, "process")                                    \
	X(NCCL_PID_TOTAL, "total_nccl_time_ms", F64, "sum of durations")      \
	X(NCCL_PID_COUNT, "nccl_event_count", I64, "executions")              \
	X(NCCL_PID_MAX, "max_duration_ms", F64, "longest")                    \
	X(NCCL_PID_TOP, "top_nccl_op", STR, "operation with the largest total")
NSX_COLUMNS(nccl_pid_cols, NCCL_PID_COLUMNS);
#define NCCL_WINDOW_COLUMNS(X)                                                \
	X(NCCL_WINDOW_START_NS, "start_ns", I64, "begins")                    \
	X(NCCL_WINDOW_END_NS, "end_ns", I64, "ends")
NSX_COLUMNS(nccl_window_cols, NCCL_WINDOW_COLUMNS);
#define NCCL_DEVICE_COLUMNS(X)                                                                     \
	X(NCCL_DEVICE_ID, "device_id", I64, "CUDA ordinal")                                        \
	X(NCCL_DEVICE_COMM_MS, "comm_ms", F64, "union of communication")                           \
	X(NCCL_DEVICE_OVERLAP_PCT, "overlap_pct", F64, "share of comm_ms hidden by compute")       \
	X(NCCL_DEVICE_EXPOSED_MS, "exposed_ms", F64, "part of comm_ms without compute")            \
	X(NCCL_DEVICE_BLOCKING_MS, "blocking_ms", F64,                                             \
	  "part of exposed_ms at whose end compute starts at once")                                \
	X(NCCL_DEVICE_GPU, "gpu", STR, "distinguishes GPUs with the same ordinal")
NSX_COLUMNS(nccl_device_cols, NCCL_DEVICE_COLUMNS);
#define NCCL_MATCH_COLUMNS(X)                                                                      \
	X(NCCL_MATCH_OP_NAME, "op_name", STR, "collective")                                        \
	X(NCCL_MATCH_RANKS, "ranks", I64, "participants matched")                                  \
	X(NCCL_MATCH_INSTANCES, "instances", I64, "matched")                                       \
	X(NCCL_MATCH_LATE_RANK, "late_rank", STR, "induced most waiting")                          \
	X(NCCL_MATCH_TIMES_LAST, "times_last", I64, "instances in which the late rank came "       \
						    "last")                                        \
	X(NCCL_MATCH_INDUCED_MS, "induced_ms", F64, "waiting induced by the late rank over all "   \
						    "instances")                                   \
	X(NCCL_MATCH_WAITING_RANK, "waiting_rank", STR, "waited most")                             \
	X(NCCL_MATCH_WAITED_MS, "waited_ms", F64, "waiting of the waiting rank over all "          \
						  "instances")                                     \
	X(NCCL_MATCH_TRANSFER_MS, "transfer_ms", F64, "from the last arrival to the last end")     \
	X(NCCL_MATCH_SHORTEST_MS, "shortest_ms", F64, "sum of the shortest kernel of each "        \
						      "instance")                                  \
	X(NCCL_MATCH_END_SPREAD_US, "end_spread_us", F64, "median time from the first end to the " \
							  "last end of an instance")               \
	X(NCCL_MATCH_KEPT_INSTANCES, "kept_instances", I64, "instances that are evidence for the " \
							    "verdict")                             \
	X(NCCL_MATCH_KEPT_INDUCED_MS, "kept_induced_ms", F64, "waiting induced by the late rank "  \
							      "in kept_instances")                 \
	X(NCCL_MATCH_START_SKEW_MS, "start_skew_ms", F64,                                          \
	  "waiting induced outside the judged window and in the first instance")                   \
	X(NCCL_MATCH_P_VALUE, "p_value", F64, "probability of coming last this often by chance")   \
	X(NCCL_MATCH_PERSISTENT, "persistent", BOOL, "a straggler is proved")                      \
	X(NCCL_MATCH_CAUSE, "cause", STR,                                                          \
	  "cause that explains four fifths of the lateness; null: "                                \
					  "none does")
NSX_COLUMNS(nccl_match_cols, NCCL_MATCH_COLUMNS);
#define NCCL_MESSAGE_COLUMNS(X)                                                                    \
	X(NCCL_MESSAGE_OP_NAME, "op_name", STR, "collective, send or recv")                        \
	X(NCCL_MESSAGE_CALLS, "calls", I64, "calls with a payload that began in the window")       \
	X(NCCL_MESSAGE_BYTES, "bytes", I64, "of all messages")                                     \
	X(NCCL_MESSAGE_P50_BYTES, "p50_bytes", F64, "median message")                              \
	X(NCCL_MESSAGE_MAX_BYTES, "max_bytes", I64, "greatest message")                            \
	X(NCCL_MESSAGE_COMMUNICATORS, "communicators", I64, "distinct ones")
NSX_COLUMNS(nccl_message_cols, NCCL_MESSAGE_COLUMNS);

#endif
