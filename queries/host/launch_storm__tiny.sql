-- Kernels with a mean duration of 5 us or less.
-- @role check
-- @table tiny_kernels
-- @col kernel_name      full name
-- @col call_count       executions
-- @col avg_duration_us  mean duration
SELECT
  kernel_name
, count(*) AS call_count
, sum(end_ns - start_ns) / 1e3 / count(*) AS avg_duration_us
FROM _kernel
GROUP BY kernel_name
HAVING sum(end_ns - start_ns) <= 5000 * count(*)
ORDER BY call_count DESC, kernel_name
