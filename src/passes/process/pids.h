/* pids.h - what the sections by process share. */
#ifndef NSX_PASSES_PIDS_H
#define NSX_PASSES_PIDS_H

#include "passes/pass.h"

enum {
	NSX_PIDS_SHOWN = 10,	     /* processes in detail: most kernel time */
	NSX_KERNELS_PER_PID = 10,    /* their kernels in Markdown and JSON    */
};

/* What each process did, by index of process. */
struct nsx_pid_totals {
	int64_t kernel_ns, sync_ns;
	size_t nkernels, nsyncs;
};
struct nsx_pids {
	struct nsx_pid_totals *total;
	uint32_t *kernel; /* ops that are kernels, process by process ...    */
	size_t *at;	  /* ... that of process p begins at at[p]           */
	size_t *call_at;  /* so do its calls                                 */
	uint32_t *order;  /* processes: most kernel time, most waiting, pid  */
	int64_t kernel_ns; /* of all                                         */
};
int nsx_pids_build(const struct nsx_trace *t, struct nsx_arena *a,
		   struct nsx_pids *ret, struct nsx_err *err);

/* Why kernels cannot be told apart by process; NULL: they can. */
const char *nsx_pids_unknown(const struct nsx_trace *t);

/* A row on each process for the report: what it ran, with whom, and what the
 * sections of communication and barriers say of it.
 */
#define NSX_PROCESS_COLUMNS(X)                                                \
	X(P_PID, "pid", I64, "process")                                       \
	X(P_NAME, "process_name", STR, "its program")                         \
	X(P_KERNEL_MS, "kernel_time_ms", F64, "sum of kernel durations")      \
	X(P_KERNELS, "kernel_count", I64, "kernels that began in the window") \
	X(P_BUSY, "gpu_busy_ms", F64,                                         \
	  "union of all its GPU work, summed over devices")                   \
	X(P_CO_RUN, "co_run_ms", F64,                                         \
	  "part of gpu_busy_ms in which another process ran on the same "     \
	  "device")                                                           \
	X(P_DEVICES, "device_ids", LIST,                                      \
	  "ordinals of the devices it ran work on")                           \
	X(P_NCCL, "nccl_time_ms", F64, "sum of its communication operations") \
	X(P_BARRIER, "barrier_time_ms", F64, "time in its CPU-GPU barriers")  \
	X(P_TOP_NCCL, "top_nccl_op", STR,                                     \
	  "communication operation with the most time")                       \
	X(P_TOP_BARRIER, "top_barrier", STR, "barrier with the most time")
NSX_COLUMNS(nsx_process_cols, NSX_PROCESS_COLUMNS);
extern const struct nsx_layout nsx_process_layout;
int nsx_fill_processes(const struct nsx_run *run,
		       const struct nsx_report *report,
		       const struct nsx_pids *pids,
		       struct nsx_table *table, struct nsx_section *out,
		       struct nsx_err *err);

/* Columns of the synchronising calls of each process. */
#define NSX_PID_SYNC_COLUMNS(X)                                               \
	X(S_PID, "pid", I64, "process")                                       \
	X(S_NAME, "api_name", STR, "function, as recorded")                   \
	X(S_COUNT, "call_count", I64,                                         \
	  "calls that began in the window", .adds = true)                     \
	X(S_MS, "total_time_ms", F64, "time in them", .adds = true)           \
	X(S_AVG, "avg_duration_us", F64, "total over count")
NSX_COLUMNS(nsx_pid_sync_cols, NSX_PID_SYNC_COLUMNS);

#endif
