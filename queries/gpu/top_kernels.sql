-- Kernels by (name, GPU): number of executions, and total, shortest and longest duration.
-- @role check
-- @table kernels
-- @col kernel_name    full name
-- @col device_id      CUDA ordinal
-- @col call_count     executions
-- @col total_time_ns  sum of durations
-- @col min_duration_us  shortest
-- @col max_duration_us  longest
SELECT
  kernel_name
, device_id
, count(*) AS call_count
, sum(end_ns - start_ns) AS total_time_ns
, min(end_ns - start_ns) / 1e3 AS min_duration_us
, max(end_ns - start_ns) / 1e3 AS max_duration_us
FROM _kernel
GROUP BY kernel_name, device_id, gpu
ORDER BY total_time_ns DESC, call_count DESC, kernel_name, device_id
