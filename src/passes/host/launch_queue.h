/* launch_queue.h - how much work waits on each stream; see launch_queue.c. */
#ifndef NSX_PASSES_LAUNCH_QUEUE_H
#define NSX_PASSES_LAUNCH_QUEUE_H

#include "passes/pass.h"

#define NSX_LAUNCH_QUEUE_COLUMNS(X)                                           \
	X(QUEUE_PID, "pid", I64, "process")                                   \
	X(QUEUE_DEVICE, "device_id", I64, "CUDA ordinal")                     \
	X(QUEUE_CONTEXT, "context_id", I64, "CUDA context")                   \
	X(QUEUE_STREAM, "stream_id", I64, "stream inside the context")        \
	X(QUEUE_LAUNCHES, "launches", I64, "calls whose work ran on it")      \
	X(QUEUE_MEDIAN, "median_depth", I64,                                  \
	  "launched but not begun, median over time")                         \
	X(QUEUE_MOST, "max_depth", I64, "most at once")                       \
	X(QUEUE_EMPTY, "empty_pct", F64,                                      \
	  "share of the time, from the first launch to the last start, in "   \
	  "which nothing waited")                                             \
	X(QUEUE_STARVED, "starved_ms", F64,                                   \
	  "part of that in which the device was idle")
NSX_COLUMNS(nsx_launch_queue_cols, NSX_LAUNCH_QUEUE_COLUMNS);

int nsx_fill_launch_queue(const struct nsx_run *run, struct nsx_table *table,
			  struct nsx_err *err) NSX_CHECKED;

#endif
