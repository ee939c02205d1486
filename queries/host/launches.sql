-- Launch calls by (process, thread, name).
-- @role check
-- @table rows
-- @col pid            process
-- @col tid            thread
-- @col api_name       the call, with its version suffix
-- @col count          calls
-- @col total_time_ms  sum of their durations
-- @col p50_us         median, linear interpolation
-- @col p99_us         99th percentile
WITH
ranked AS (
  SELECT
    thread_key
  , api_name
  , end_ns - start_ns AS ns
  , row_number() OVER same - 1 AS at
  , count(*) OVER (PARTITION BY thread_key, api_name) - 1 AS last
  , lead(end_ns - start_ns, 1, end_ns - start_ns) OVER same AS next_ns
  FROM _launch_call
  WINDOW same AS (
    PARTITION BY thread_key, api_name ORDER BY end_ns - start_ns, rid)
)
SELECT
  thread_key >> 24 & 0xFFFFFF AS pid
, thread_key & 0xFFFFFF AS tid
, api_name
, count(*) AS count
, sum(ns) / 1e6 AS total_time_ms
  -- The quantile q lies at position last * q, interpolated between its two neighbours.
, sum(CASE WHEN at = CAST(last * 0.5 AS INTEGER)
    THEN ns + (last * 0.5 - at) * (next_ns - ns) END) / 1e3 AS p50_us
, sum(CASE WHEN at = CAST(last * 0.99 AS INTEGER)
    THEN ns + (last * 0.99 - at) * (next_ns - ns) END) / 1e3 AS p99_us
FROM ranked
GROUP BY thread_key, api_name
ORDER BY total_time_ms DESC, count DESC, pid, tid, api_name
