-- Time that the profiler itself took, by activity.
-- @role check
-- @table rows
-- @col source      nsys: the profiler itself; cupti: CUDA's interface for profilers
-- @col name        the activity
-- @col count       number of occurrences
-- @col total_ms    sum of durations
-- @col longest_ms  longest
WITH
piece AS (
  SELECT
    'nsys' AS source
  , CASE typeof(p.name)
      WHEN 'text' THEN p.name
      WHEN 'integer' THEN COALESCE(s.text, 'id:' || p.name)
      ELSE 'id:0'
    END AS name
  , p.end_ns - p.start_ns AS ns
  FROM profiler_overhead AS p
  LEFT JOIN _string AS s ON s.id = p.name
  WHERE typeof(p.start_ns) = 'integer'
    AND typeof(p.end_ns) = 'integer'
    AND p.end_ns >= p.start_ns
    AND p.start_ns >= -2305843009213693952
    AND p.end_ns <= 2305843009213693952
  UNION ALL
  SELECT
    'cupti'
  , CASE overhead_type
      WHEN 3 THEN 'CUPTI buffer flush'
      WHEN 4 THEN 'CUPTI instrumentation'
      ELSE 'CUPTI resources'
    END
  , end_ns - start_ns
  FROM overhead
  WHERE typeof(start_ns) = 'integer'
    AND typeof(end_ns) = 'integer'
    AND end_ns >= start_ns
    AND start_ns >= -2305843009213693952
    AND end_ns <= 2305843009213693952
    AND overhead_type BETWEEN 3 AND 5
)
SELECT
  source
, name
, count(*) AS count
, sum(ns) / 1e6 AS total_ms
, max(ns) / 1e6 AS longest_ms
FROM piece
GROUP BY source, name
ORDER BY total_ms DESC, source, name
