-- The 50 longest gaps of all GPUs, including those at the edges of the window.
-- @role check
-- @table gaps
-- @col device_id     CUDA ordinal
-- @col gap_start_ns  end of the last work before the gap
-- @col gap_end_ns    start of the next work
-- @col gap_ms        length of the gap
WITH
work AS (
  SELECT device_key, start_ns, end_ns
  FROM _gpu_work
  WHERE end_ns > start_ns
  UNION ALL -- an operation of no length at each end of the window, for the gaps at the edges
  SELECT DISTINCT device_key
  , (SELECT min(start_ns) FROM _gpu_work)
  , (SELECT min(start_ns) FROM _gpu_work)
  FROM _gpu_work
  UNION ALL
  SELECT DISTINCT device_key
  , (SELECT max(end_ns) FROM _gpu_work)
  , (SELECT max(end_ns) FROM _gpu_work)
  FROM _gpu_work
),
step AS (
  SELECT
    device_key
  , max(end_ns) OVER (
      PARTITION BY device_key ORDER BY start_ns, end_ns
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS dry_ns
  , start_ns
  FROM work
),
device AS (
  SELECT device_key, min(device_id) AS device_id
  FROM _gpu_work
  GROUP BY device_key
)
SELECT
  device_id
, dry_ns AS gap_start_ns
, start_ns AS gap_end_ns
, (start_ns - dry_ns) / 1e6 AS gap_ms
FROM step
JOIN device USING (device_key)
WHERE start_ns > dry_ns
ORDER BY gap_ms DESC, gap_start_ns, device_id
LIMIT 50
