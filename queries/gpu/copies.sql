-- Copies by (device, direction, kind of source, kind of destination).
-- @role check
-- @table rows
-- @col device_id      CUDA ordinal
-- @col direction      HtoD, DtoH ...
-- @col src_kind       kind of source memory
-- @col dst_kind       kind of destination memory
-- @col count          copies
-- @col bytes          bytes they moved
-- @col total_time_ns  sum of durations
-- @col busy_ms        union of durations: time in which at least one copy ran
-- @col gbps           bytes over busy time, in 10^9 bytes a second
-- @col small_count    copies below 64 KiB
WITH
label(id, name) AS (
  VALUES (0, 'Pageable'), (1, 'Pinned'), (2, 'Device'), (3, 'Array'),
         (4, 'Managed'), (5, 'Device Static'), (6, 'Managed Static'),
         (7, 'Unknown')
),
mem(id, name) AS (
  SELECT id, label FROM enum_mem_kind
  UNION ALL
  SELECT id, name FROM label WHERE id NOT IN (SELECT id FROM enum_mem_kind)
),
piece AS (
  SELECT
    *
  , max(0, end_ns - max(start_ns, COALESCE(max(end_ns) OVER (
      PARTITION BY device_id, gpu, kind, src, dst
      ORDER BY start_ns, end_ns, rid
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start_ns))) AS added
  FROM _copy
)
SELECT
  p.device_id
, p.direction
, COALESCE(s.name, 'kind ' || p.src) AS src_kind
, COALESCE(d.name, 'kind ' || p.dst) AS dst_kind
, count(*) AS count
, COALESCE(sum(p.bytes), 0) AS bytes
, sum(p.end_ns - p.start_ns) AS total_time_ns
, sum(p.added) / 1e6 AS busy_ms
, CASE WHEN count(p.bytes) = count(*)
    THEN CAST(sum(p.bytes) AS REAL) / nullif(sum(p.added), 0)
  END AS gbps
, COALESCE(sum(p.bytes < 65536), 0) AS small_count
FROM piece AS p
LEFT JOIN mem AS s ON s.id = p.src
LEFT JOIN mem AS d ON d.id = p.dst
GROUP BY p.device_id, p.gpu, p.kind, p.src, p.dst
ORDER BY total_time_ns DESC, bytes DESC, p.device_id, p.direction
, src_kind, dst_kind
