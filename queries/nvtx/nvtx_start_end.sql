-- Kernels that a process launched while one of its start/end ranges was open, by range name.
-- @role check
-- @table *
-- @col range_name      normalised name
-- @col count           ranges
-- @col kernel_count    kernels
-- @col kernel_time_ms  sum of these kernels' durations
WITH
open_range AS (
  SELECT * FROM _range WHERE kind = 'async'
),
launched AS MATERIALIZED (
  SELECT k.rid, k.process_key, k.ns, c.start_ns AS at
  FROM _kernel_range AS k
  JOIN _call AS c ON c.rid = k.call_rid
),
named AS (
  SELECT label AS range_name, count(*) AS count FROM open_range GROUP BY label
),
met AS (
  SELECT DISTINCT r.label AS range_name, k.rid, k.ns
  FROM open_range AS r
  JOIN launched AS k ON k.process_key = r.process_key
    AND k.at >= r.start_ns AND (k.at < r.end_ns OR r.is_open)
)
SELECT
  n.range_name
, n.count
, count(m.rid) AS kernel_count
, COALESCE(sum(m.ns), 0) / 1e6 AS kernel_time_ms
FROM named AS n
LEFT JOIN met AS m ON m.range_name = n.range_name
GROUP BY n.range_name
ORDER BY kernel_time_ms DESC, n.count DESC, n.range_name
