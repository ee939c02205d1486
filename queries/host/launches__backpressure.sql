-- Part of each thread's launch calls during which the command buffer was full.
-- @role check
-- @col pid              process
-- @col tid              thread
-- @col api_name         the call
-- @col backpressure_ms  part of the calls inside rows of overhead type 8 (command buffer full)
WITH
full AS (
  SELECT global_tid AS thread_key, start_ns, end_ns
  , max(end_ns) OVER (
      PARTITION BY global_tid ORDER BY start_ns, end_ns
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM overhead
  WHERE overhead_type = 8
    AND end_ns >= start_ns
),
held AS ( -- the part of each row after the end of the rows before it
  SELECT thread_key, max(start_ns, COALESCE(before, start_ns)) AS start_ns
  , end_ns
  FROM full
  WHERE end_ns > COALESCE(before, start_ns)
)
SELECT
  c.thread_key >> 24 & 0xFFFFFF AS pid
, c.thread_key & 0xFFFFFF AS tid
, c.api_name
, sum(min(c.end_ns, h.end_ns) - max(c.start_ns, h.start_ns)) / 1e6
    AS backpressure_ms
FROM _launch_call AS c
JOIN held AS h
  ON h.thread_key = c.thread_key
  AND h.start_ns < c.end_ns
  AND h.end_ns > c.start_ns
GROUP BY c.thread_key, c.api_name
ORDER BY backpressure_ms DESC, pid, tid, c.api_name
