-- Allocated memory by (process, device, kind): the peak, and the bytes live at the end.
-- @role check
-- @table rows
-- @col pid                   process
-- @col device_id             CUDA ordinal
-- @col kind                  device, managed, host or unknown
-- @col alloc_count           allocations
-- @col free_count            frees
-- @col peak_bytes            most bytes live at one time, including unmatched_free_bytes
-- @col peak_time_ns          first time of the peak
-- @col end_live_bytes        bytes live at the end
-- @col unmatched_free_bytes  bytes freed without an allocation in the trace
WITH
sound AS (
  SELECT
    start_ns
  , CASE typeof(global_pid) WHEN 'integer' THEN global_pid & ~0xFFFFFF
      ELSE 0 END AS process_key
  , CASE typeof(device_id) WHEN 'integer' THEN device_id ELSE 0 END
      AS device_id
  , address
  , bytes
  , CASE
      WHEN mem_kind IN (0, 1) THEN 'host'
      WHEN mem_kind IN (2, 3, 5) THEN 'device'
      WHEN mem_kind IN (4, 6) THEN 'managed'
      ELSE 'unknown'
    END AS kind
  , operation AS is_free
  FROM memory_event
  WHERE typeof(start_ns) = 'integer'
    AND start_ns BETWEEN -2305843009213693952 AND 2305843009213693952
    AND typeof(address) = 'integer'
    AND typeof(bytes) = 'integer'
    AND bytes BETWEEN 0 AND 2305843009213693952
    AND typeof(operation) = 'integer'
    AND operation IN (0, 1)
),
-- Each row with the row before it at the same address. A free ends the allocation before
-- it. An allocation at an address in use means that a free was not recorded.
told AS (
  SELECT
    *
  , lag(NOT is_free, 1, 0) OVER address AS is_live
  , lag(bytes) OVER address AS live_bytes
  , lag(kind) OVER address AS live_kind
  , lag(device_id) OVER address AS live_device
  , lead(start_ns) OVER address IS start_ns AS is_again
  FROM sound
  WINDOW address AS (
    PARTITION BY process_key, address
    ORDER BY start_ns, is_free DESC, bytes, device_id, kind)
),
step(process_key, device_id, kind, at_ns, turn, delta, is_alloc, is_free,
    unmatched) AS (
  SELECT process_key, device_id, kind, start_ns, 1, bytes, 1, 0, 0
  FROM told WHERE NOT is_free
  UNION ALL -- addresses allocated again, because a free was not recorded
  SELECT process_key, live_device, live_kind, start_ns, 0, -live_bytes, 0, 0, 0
  FROM told WHERE NOT is_free AND is_live
  UNION ALL
  SELECT process_key, live_device, live_kind, start_ns
  , CASE WHEN is_again THEN 0 ELSE 2 END, -live_bytes, 0, 1, 0
  FROM told WHERE is_free AND is_live
  UNION ALL
  SELECT process_key, device_id, kind, start_ns
  , CASE WHEN is_again THEN 0 ELSE 2 END, -bytes, 0, 1, bytes
  FROM told WHERE is_free AND NOT is_live
),
level AS (
  SELECT
    *
  , sum(delta) OVER (
      PARTITION BY process_key, device_id, kind ORDER BY at_ns, turn) AS live
  FROM step
),
total AS (
  SELECT
    process_key
  , device_id
  , kind
  , sum(is_alloc) AS alloc_count
  , sum(is_free) AS free_count
  , max(0, max(live)) AS peak
  , min(at_ns) AS first_ns
  , sum(delta) AS end_live
  , sum(unmatched) AS unmatched
  FROM level
  GROUP BY process_key, device_id, kind
)
SELECT
  t.process_key >> 24 & 0xFFFFFF AS pid
, t.device_id
, t.kind
, t.alloc_count
, t.free_count
, t.peak + t.unmatched AS peak_bytes
, CASE t.peak
    WHEN 0 THEN t.first_ns
    ELSE (
      SELECT min(l.at_ns)
      FROM level AS l
      WHERE l.process_key = t.process_key
        AND l.device_id = t.device_id
        AND l.kind = t.kind
        AND l.live = t.peak)
  END AS peak_time_ns
, t.end_live + t.unmatched AS end_live_bytes
, t.unmatched AS unmatched_free_bytes
FROM total AS t
ORDER BY peak_bytes DESC, pid, t.device_id, t.kind
