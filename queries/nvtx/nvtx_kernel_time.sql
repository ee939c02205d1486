-- Kernel time by the innermost NVTX range of the launch.
-- @role check
-- @table ranges
-- @col range_name                normalised name
-- @col kernel_count              kernels
-- @col total_kernel_time_ns      sum of these kernels' durations
-- @col pct_of_total_kernel_time  share of the time of all kernels
SELECT
  label AS range_name
, count(*) AS kernel_count
, sum(ns) AS total_kernel_time_ns
, 100.0 * sum(ns) / (SELECT sum(end_ns - start_ns) FROM _kernel)
    AS pct_of_total_kernel_time
FROM _kernel_range
WHERE range_rid IS NOT NULL
GROUP BY label
ORDER BY total_kernel_time_ns DESC, kernel_count DESC, range_name
