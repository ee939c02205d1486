/* storm.h - how densely kernels are launched (queries/README.md 9), over all kernels or
 * those of one process.
 */
#pragma once

#include "report/table.h"

/* Columns in the order of nsx_storm_cells; prefix begins their keys. */
#define NSX_STORM_COLUMNS(X, prefix)                                          \
	X(STORM_LAUNCHES, prefix "total_launches", I64,                       \
	  "kernels that began in the window")                                 \
	X(STORM_WINDOW, prefix "window_s", F64,                               \
	  "first kernel start to last kernel end")                            \
	X(STORM_RATE, prefix "launches_per_s", F64,                           \
	  "launches per second of that window")                               \
	X(STORM_MEDIAN, prefix "median_kernel_us", F64, "median duration")    \
	X(STORM_P50, prefix "p50_kernel_us", F64, "the same")                 \
	X(STORM_P90, prefix "p90_kernel_us", F64, "90th percentile")          \
	X(STORM_P99, prefix "p99_kernel_us", F64, "99th percentile")          \
	X(STORM_UNDER_5, prefix "pct_under_5us", F64,                         \
	  "share of kernels shorter than 5 us")                               \
	X(STORM_UNDER_10, prefix "pct_under_10us", F64,                       \
	  "share of kernels shorter than 10 us")                              \
	X(STORM_UNDER_20, prefix "pct_under_20us", F64,                       \
	  "share of kernels shorter than 20 us")                              \
	X(STORM_FLAG, prefix "is_launch_storm", BOOL,                         \
	  "whether rate and median exceed a threshold", .title = "launch_storm")

#define NSX_STORM_COUNT(...) +1
enum { NSX_STORM_NCOLUMNS = 0 NSX_STORM_COLUMNS(NSX_STORM_COUNT, "") };

/* A launch storm has at least launches_per_s, with a median kernel of at most p50_kernel_us. */
struct nsx_storm_threshold {
	double launches_per_s, p50_kernel_us;
};
extern const struct nsx_storm_threshold nsx_storm_thresholds[2];

/* Makes the cells for n kernels; reorders their durations. A cell is null if its divisor is 0. */
void nsx_storm_cells(int64_t *duration_ns, size_t n, int64_t window_ns, struct nsx_cell *ret);
