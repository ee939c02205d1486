-- Calls that wait for the GPU, by process and recorded name.
-- @role check
-- @table sync_by_pid
-- @col pid              process
-- @col api_name         the call, with its version suffix
-- @col call_count       calls
-- @col total_time_ms    sum of their durations
-- @col avg_duration_us  total over count
SELECT
  pid
, api_name
, count(*) AS call_count
, sum(end_ns - start_ns) / 1e6 AS total_time_ms
, sum(end_ns - start_ns) / 1e3 / count(*) AS avg_duration_us
FROM _sync_call
GROUP BY process_key, api_name
ORDER BY
  sum(sum(end_ns - start_ns)) OVER (PARTITION BY process_key) DESC
, total_time_ms DESC
, call_count DESC
, api_name
