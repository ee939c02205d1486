/* pids.h - shared by the sections by process. */
#pragma once

#include "passes/pass.h"

enum {
	NSX_PIDS_SHOWN = 10,	     /* processes shown in detail, by kernel time */
	NSX_KERNELS_PER_PID = 10,    /* kernels of each such process in Markdown and JSON */
};

/* Work of each process, by its index. */
struct nsx_pid_totals {
	int64_t pid, kernel_ns, sync_ns;
	size_t nkernels, ncalls, nsyncs; /* nsyncs: those of the calls that synchronise */
};
struct nsx_pids {
	struct nsx_pid_totals *total;
	uint32_t *kernel; /* kernels, as operations, process by process      */
	size_t *at;	  /* the kernels of process p begin at at[p]         */
	uint32_t *order;  /* processes by kernel time, waiting, pid          */
	int64_t kernel_ns; /* over all processes                             */
};
int nsx_pids_build(const struct nsx_trace *t, struct nsx_arena *a,
		   struct nsx_pids *ret, struct nsx_err *err);

/* Why kernels are not known by process; NULL: they are known. */
const char *nsx_pids_unknown(const struct nsx_trace *t);

/* Columns with one row for each process: what it ran, on which devices, and its
 * communication and barriers.
 */
#define NSX_PROCESS_COLUMNS(X)                                                                     \
	X(P_PID, "pid", I64, "process")                                                            \
	X(P_NAME, "process_name", STR, "its program")                                              \
	X(P_KERNEL_MS, "kernel_time_ms", F64, "sum of kernel durations")                           \
	X(P_KERNELS, "kernel_count", I64, "kernels that began in the window")                      \
	X(P_BUSY, "gpu_busy_ms", F64, "union of all GPU work of the process, summed over "         \
				      "devices")                                                   \
	X(P_CO_RUN, "co_run_ms", F64,                                                              \
	  "part of gpu_busy_ms in which another process ran on the same device")                   \
	X(P_DEVICES, "device_ids", LIST, "ordinals of the devices that ran its work")              \
	X(P_NCCL, "nccl_time_ms", F64, "sum of the process's communication operations")            \
	X(P_BARRIER, "barrier_time_ms", F64, "time in the process's CPU-GPU barriers")             \
	X(P_TOP_NCCL, "top_nccl_op", STR, "communication operation with the most time")            \
	X(P_TOP_BARRIER, "top_barrier", STR, "barrier with the most time")
NSX_COLUMNS(nsx_process_cols, NSX_PROCESS_COLUMNS);
extern const struct nsx_layout nsx_process_layout;
int nsx_fill_processes(const struct nsx_run *run, const struct nsx_report *report,
		       const struct nsx_pids *pids,
		       struct nsx_table *table, struct nsx_section *out, struct nsx_err *err);

/* Columns for synchronising calls by process. */
#define NSX_PID_SYNC_COLUMNS(X)                                                                    \
	X(S_PID, "pid", I64, "process")                                                            \
	X(S_NAME, "api_name", STR, "function, as recorded")                                        \
	X(S_COUNT, "call_count", I64, "calls that began in the window", .adds = true)              \
	X(S_MS, "total_time_ms", F64, "time in them", .adds = true)                                \
	X(S_AVG, "avg_duration_us", F64, "total over count")
NSX_COLUMNS(nsx_pid_sync_cols, NSX_PID_SYNC_COLUMNS);
