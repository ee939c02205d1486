-- NVTX coverage: the share of kernel time that was launched in any range. The rest has no launch
-- call in the trace, or one outside all ranges.
-- @role check
-- @col total_kernel_time_ns   time of all kernels
-- @col mapped_kernel_time_ns  time of kernels launched in a range
-- @col coverage_pct           mapped_kernel_time_ns as a share of total_kernel_time_ns
-- @col no_api_row_ms          time of kernels without a launch call in the trace
-- @col no_range_ms            time of kernels whose launch call lies outside all ranges
SELECT
  sum(ns) AS total_kernel_time_ns
, sum(CASE WHEN range_rid THEN ns ELSE 0 END) AS mapped_kernel_time_ns
, 100.0 * sum(CASE WHEN range_rid THEN ns ELSE 0 END) / sum(ns) AS coverage_pct
, sum(CASE WHEN call_rid IS NULL THEN ns ELSE 0 END) / 1e6 AS no_api_row_ms
, sum(CASE WHEN call_rid AND range_rid IS NULL THEN ns ELSE 0 END) / 1e6
    AS no_range_ms
FROM _kernel_range
