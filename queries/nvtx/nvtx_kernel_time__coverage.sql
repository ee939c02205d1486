-- NVTX coverage: kernel time launched in any range, of all, and the rest.
-- @role check
-- @col total_kernel_time_ns   all kernels
-- @col mapped_kernel_time_ns  launched in a range
-- @col coverage_pct           the second of the first
-- @col no_api_row_ms          kernels without a call
-- @col no_range_ms            kernels launched outside of ranges
SELECT
  sum(ns) AS total_kernel_time_ns
, sum(CASE WHEN range_rid THEN ns ELSE 0 END) AS mapped_kernel_time_ns
, 100.0 * sum(CASE WHEN range_rid THEN ns ELSE 0 END) / sum(ns) AS coverage_pct
, sum(CASE WHEN call_rid IS NULL THEN ns ELSE 0 END) / 1e6 AS no_api_row_ms
, sum(CASE WHEN call_rid AND range_rid IS NULL THEN ns ELSE 0 END) / 1e6
    AS no_range_ms
FROM _kernel_range
