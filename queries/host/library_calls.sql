-- Calls of libraries by (process, library, function).
-- @role check
-- @table rows
-- @col pid            process
-- @col library        cuBLAS, cuDNN, MPI, OpenACC, OpenMP or UCX
-- @col function       the function called
-- @col count          calls
-- @col total_time_ms  sum of durations
-- @col p50_us         median, linear interpolation
-- @col p95_us         95th percentile
-- @col max_us         longest
WITH
ranked AS (
  SELECT
    thread_key & ~0xFFFFFF AS process_key
  , library
  , function
  , end_ns - start_ns AS ns
  , row_number() OVER same - 1 AS at
  , count(*) OVER (
      PARTITION BY thread_key & ~0xFFFFFF, library, function) - 1 AS last
  , lead(end_ns - start_ns, 1, end_ns - start_ns) OVER same AS next_ns
  FROM _library_call
  WINDOW same AS (
    PARTITION BY thread_key & ~0xFFFFFF, library, function
    ORDER BY end_ns - start_ns)
)
SELECT
  process_key >> 24 & 0xFFFFFF AS pid
, library
, function
, count(*) AS count
, sum(ns) / 1e6 AS total_time_ms
  -- The quantile q lies at position last * q, interpolated between its two neighbours.
, sum(CASE WHEN at = CAST(last * 0.5 AS INTEGER)
    THEN ns + (last * 0.5 - at) * (next_ns - ns) END) / 1e3 AS p50_us
, sum(CASE WHEN at = CAST(last * 0.95 AS INTEGER)
    THEN ns + (last * 0.95 - at) * (next_ns - ns) END) / 1e3 AS p95_us
, max(ns) / 1e3 AS max_us
FROM ranked
GROUP BY process_key, library, function
ORDER BY total_time_ms DESC, count DESC, pid, library, function
