-- Well-formed outermost OS runtime calls, with their names as text. If any row of the
-- export has a nesting level, rows without one are notices of the profiler and left out.
SELECT
  o.rid
, o.start_ns
, o.end_ns
, CASE typeof(o.global_tid) WHEN 'integer' THEN o.global_tid ELSE 0 END
    AS thread_key
, CASE typeof(o.name)
    WHEN 'text' THEN o.name
    WHEN 'integer' THEN COALESCE(s.text, 'id:' || o.name)
    ELSE ''
  END AS api_name
FROM osrt AS o
LEFT JOIN _string AS s ON s.id = o.name
WHERE typeof(o.start_ns) = 'integer'
  AND typeof(o.end_ns) = 'integer'
  AND o.end_ns >= o.start_ns
  AND o.start_ns >= -2305843009213693952
  AND o.end_ns <= 2305843009213693952
  AND (typeof(o.nesting_level) <> 'integer' OR o.nesting_level <= 0)
  AND (
    o.nesting_level IS NOT NULL
    OR NOT EXISTS (SELECT 1 FROM osrt WHERE nesting_level IS NOT NULL)
  )
