-- Outermost OS runtime calls by (thread, function).
-- @role check
-- @table rows
-- @col pid            process
-- @col tid            thread
-- @col api_name       function
-- @col count          calls
-- @col total_time_ms  sum of durations
-- @col avg_us         total over count
-- @col max_us         longest
WITH
leveled(known) AS ( -- number of rows with a nesting level; 0: the export has none
  SELECT count(*) FROM osrt WHERE nesting_level IS NOT NULL
),
sound AS (
  SELECT
    end_ns - start_ns AS ns
  , CASE typeof(global_tid) WHEN 'integer' THEN global_tid ELSE 0 END
      AS thread_key
  , name
  FROM osrt
  WHERE typeof(start_ns) = 'integer'
    AND typeof(end_ns) = 'integer'
    AND end_ns >= start_ns
    AND start_ns >= -2305843009213693952
    AND end_ns <= 2305843009213693952
    AND (typeof(nesting_level) <> 'integer' OR nesting_level <= 0)
    AND (nesting_level IS NOT NULL OR (SELECT known FROM leveled) = 0)
),
named AS (
  SELECT
    o.*
  , CASE typeof(o.name)
      WHEN 'text' THEN o.name
      WHEN 'integer' THEN COALESCE(s.text, 'id:' || o.name)
      ELSE ''
    END AS api_name
  FROM sound AS o
  LEFT JOIN _string AS s ON s.id = o.name
)
SELECT
  thread_key >> 24 & 0xFFFFFF AS pid
, thread_key & 0xFFFFFF AS tid
, api_name
, count(*) AS count
, sum(ns) / 1e6 AS total_time_ms
, CAST(sum(ns) AS REAL) / count(*) / 1e3 AS avg_us
, max(ns) / 1e3 AS max_us
FROM named
GROUP BY thread_key, api_name
ORDER BY total_time_ms DESC, count DESC, pid, tid, api_name
