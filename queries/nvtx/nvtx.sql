-- NVTX ranges by name: number, mean length and host time. A range inside a range of the same
-- name on the same stack adds nothing to the host time.
-- @role check
-- @table ranges
-- @col range_name       normalised name; names that differ only in numbers are one
-- @col count            ranges
-- @col total_time_ms    host time of the outer ranges
-- @col avg_duration_us  mean length of all ranges of the name
SELECT
  label AS range_name
, count(*) AS count
, sum(CASE WHEN kind = 'stack' AND open_until > start_ns THEN 0
    ELSE end_ns - start_ns END) / 1e6 AS total_time_ms
, sum(end_ns - start_ns) / 1e3 / count(*) AS avg_duration_us
FROM (
  SELECT
    *
  , max(end_ns) OVER (
      PARTITION BY kind, thread_key, domain_id, label
      ORDER BY start_ns, end_ns DESC, rid
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS open_until
  FROM _range
)
GROUP BY label
ORDER BY total_time_ms DESC, count DESC, range_name
