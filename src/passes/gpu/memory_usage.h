/* memory_usage.h - shared by the files of this section. */
#pragma once

#include "facts/memory.h"
#include "passes/pass.h"

enum { MEM_ROWS, MEM_BY_DEVICE, MEM_POOLS, MEM_KEPT, MEM_TREND,
       MEM_CHURN, MEM_FAULTS, MEM_NTABLES };

struct mem_usage {
	const struct nsx_run *run;
	struct nsx_section *out;
	struct nsx_table **table; /* tables of the section */
	struct nsx_memory of;
};

/* Finds memory that was never freed, by NVTX path and size, and memory that grows
 * (memory_leaks.c).
 */
int mem_never_freed(const struct mem_usage *m, struct nsx_err *err);
int mem_trend(const struct mem_usage *m, struct nsx_err *err);
#define MEM_KEPT_COLUMNS(X)                                                                     \
	X(KEPT_PID, "pid", I64, "process")                                                      \
	X(KEPT_DEVICE_ID, "device_id", I64, "CUDA ordinal")                                     \
	X(KEPT_KIND, "kind", STR, "device, managed, host or unknown")                           \
	X(KEPT_NVTX_PATH, "nvtx_path", STR,                                                     \
	  "ranges open at the allocation, outermost first; null: its call is not in the trace") \
	X(KEPT_BYTES, "bytes", I64, "size of one allocation")                                   \
	X(KEPT_COUNT, "count", I64, "allocations of this size made there")                      \
	X(KEPT_TOTAL_BYTES, "total_bytes", I64, "all of them")
NSX_COLUMNS(mem_kept_cols, MEM_KEPT_COLUMNS);
extern const struct nsx_layout mem_never_freed_layout, mem_trend_layout;

/* Finds allocations inside the loop, and page faults (memory_calls.c). */
int mem_churn(const struct mem_usage *m, struct nsx_err *err);
int mem_faults(const struct mem_usage *m, struct nsx_err *err);
#define MEM_FAULT_COLUMNS(X)                                                                       \
	X(FAULT_PID, "pid", I64, "process")                                                        \
	X(FAULT_DEVICE_ID, "device_id", I64, "CUDA ordinal; null for faults of the CPU")           \
	X(FAULT_SIDE, "side", STR, "gpu or cpu")                                                   \
	X(FAULT_GROUP_COUNT, "group_count", I64, "rows")                                           \
	X(FAULT_COUNT, "fault_count", I64, "page faults")                                          \
	X(FAULT_TOTAL_MS, "total_ms", F64, "sum of durations; null where rows are instants")
NSX_COLUMNS(mem_fault_cols, MEM_FAULT_COLUMNS);
extern const struct nsx_layout mem_churn_layout, mem_faults_layout;
