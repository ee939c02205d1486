/* storm.h - how densely kernels are launched (SEMANTICS 2): the contract's
 * figures, of all kernels or of one process's.
 */
#ifndef NSX_PASSES_STORM_H
#define NSX_PASSES_STORM_H

#include "report/table.h"

/* NSX_STORM_COLUMNS(X) expands X(key, type, help) for each figure, in the order
 * of nsx_storm_cells.
 */
#define NSX_STORM_COLUMNS(X)                                                  \
	X(total_launches, I64, "kernels that began in the window")            \
	X(window_s, F64, "first kernel start to last kernel end")             \
	X(launches_per_s, F64, "launches over that window")                   \
	X(median_kernel_us, F64, "median duration")                           \
	X(p50_kernel_us, F64, "the same")                                     \
	X(p90_kernel_us, F64, "90th percentile")                              \
	X(p99_kernel_us, F64, "99th percentile")                              \
	X(pct_under_5us, F64, "share of kernels shorter than 5 us")           \
	X(pct_under_10us, F64, "share of kernels shorter than 10 us")         \
	X(pct_under_20us, F64, "share of kernels shorter than 20 us")         \
	X(is_launch_storm, BOOL, "rate and median are beyond a threshold")

#define NSX_STORM_COUNT(k, t, h) +1
enum { NSX_STORM_NCOLUMNS = 0 NSX_STORM_COLUMNS(NSX_STORM_COUNT) };

/* A storm: at least this many launches a second of kernels whose median is at
 * most that long.
 */
struct nsx_storm_threshold {
	double launches_per_s, p50_kernel_us;
};
extern const struct nsx_storm_threshold nsx_storm_thresholds[2];

/* The figures of n kernels; their durations are reordered. Null where there is
 * nothing to divide by.
 */
void nsx_storm_cells(int64_t *duration_ns, size_t n, int64_t window_ns,
		     struct nsx_cell *ret);

#endif
