-- Calls that wait for the GPU, by recorded name.
-- @role check
-- @table sync_calls
-- @col api_name         the call, with its version suffix
-- @col call_count       calls
-- @col total_time_ms    sum of their durations
-- @col avg_duration_us  total over count
SELECT
  api_name
, count(*) AS call_count
, sum(end_ns - start_ns) / 1e6 AS total_time_ms
, sum(end_ns - start_ns) / 1e3 / count(*) AS avg_duration_us
FROM _sync_call
GROUP BY api_name
ORDER BY total_time_ms DESC, call_count DESC, api_name
