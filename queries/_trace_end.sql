-- The end of the trace, at which ranges end that were never closed: the last end of GPU
-- work, and of API calls and NVTX events that begin at 0 or later. One row.
SELECT COALESCE(max(end_ns), 0) AS end_ns
FROM (
  SELECT end_ns FROM _kernel
  UNION ALL
  SELECT end_ns FROM memcpy
  WHERE typeof(start_ns) = 'integer' AND typeof(end_ns) = 'integer'
    AND end_ns >= start_ns
  UNION ALL
  SELECT end_ns FROM memset
  WHERE typeof(start_ns) = 'integer' AND typeof(end_ns) = 'integer'
    AND end_ns >= start_ns
  UNION ALL
  SELECT end_ns FROM graph
  WHERE typeof(start_ns) = 'integer' AND typeof(end_ns) = 'integer'
    AND end_ns >= start_ns
  UNION ALL
  SELECT end_ns FROM _call WHERE start_ns >= 0
  UNION ALL
  SELECT max(start_ns, COALESCE(end_ns, start_ns)) FROM nvtx
  WHERE typeof(start_ns) = 'integer' AND start_ns >= 0
    AND typeof(end_ns) IN ('integer', 'null')
    AND COALESCE(event_type, 59) IN (34, 59, 60, 65, 70, 71)
)
