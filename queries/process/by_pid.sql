-- Kernels by (process, name, device), with shares of the process and of all.
-- @role check
-- @table kernels_by_pid
-- @col pid                       process
-- @col pid_total_kernel_time_ms  kernel time of the process
-- @col pid_pct_of_total_kernel_time  its share of the kernel time of all processes
-- @col kernel_name               full name
-- @col device_id                 CUDA ordinal
-- @col call_count                executions
-- @col total_time_ms             sum of durations
-- @col avg_duration_us           total over count
-- @col pct_of_pid_kernel_time    total_time_ms as a share of the process's kernel time
-- @col pct_of_total_kernel_time  total_time_ms as a share of all kernel time
WITH grouped AS (
  SELECT
    process_key
  , pid
  , kernel_name
  , device_id
  , count(*) AS call_count
  , sum(end_ns - start_ns) AS total_ns
  FROM _kernel
  WHERE process_key <> 0
     OR EXISTS (
       SELECT 1 FROM kernel WHERE global_pid IS NOT NULL OR pid IS NOT NULL)
  GROUP BY process_key, kernel_name, device_id, gpu
)
, shared AS (
  SELECT
    *
  , sum(total_ns) OVER (PARTITION BY process_key) AS pid_ns
  , sum(total_ns) OVER () AS all_ns
  FROM grouped
)
SELECT
  pid
, pid_ns / 1e6 AS pid_total_kernel_time_ms
, 100.0 * pid_ns / NULLIF(all_ns, 0) AS pid_pct_of_total_kernel_time
, kernel_name
, device_id
, call_count
, total_ns / 1e6 AS total_time_ms
, total_ns / 1e3 / call_count AS avg_duration_us
, 100.0 * total_ns / NULLIF(pid_ns, 0) AS pct_of_pid_kernel_time
, 100.0 * total_ns / NULLIF(all_ns, 0) AS pct_of_total_kernel_time
FROM shared
ORDER BY pid_ns DESC, pid, total_ns DESC, call_count DESC, kernel_name
