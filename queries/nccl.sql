-- Communication kernels by operation.
-- @role check
-- @table ops
-- @col op_name          collective, else the kernel's base name
-- @col count            executions
-- @col total_time_ms    sum of durations
-- @col max_duration_ms  longest
SELECT
  op_name
, count(*) AS count
, sum(end_ns - start_ns) / 1e6 AS total_time_ms
, max(end_ns - start_ns) / 1e6 AS max_duration_ms
FROM _comm
GROUP BY op_name
ORDER BY total_time_ms DESC, max_duration_ms DESC, op_name
