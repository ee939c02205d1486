-- Waits of host threads, of three sorts: blocking API calls; OS runtime calls of threads
-- that launch, without the time inside API calls (host_wait); and time between two launch
-- calls of a thread in which it does neither (cpu_launcher_gap).
-- @role check
-- @table barriers
-- @col barrier_kind     class of the wait
-- @col api_name         the call, or cpu_launcher_gap
-- @col count            waits
-- @col total_time_ms    sum of their durations
-- @col avg_duration_us  total over count
-- @col max_duration_us  longest
WITH
os_call AS ( -- own_ns is the start of the call, or the end of earlier calls that overlap it
  SELECT
    *
  , max(start_ns, COALESCE(before, start_ns)) AS own_ns
  FROM (
    SELECT
      *
    , max(end_ns) OVER (
        PARTITION BY thread_key ORDER BY start_ns, end_ns DESC, rid
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM _os_call
    WHERE thread_key IN (SELECT thread_key FROM _launch_call)
  )
  WHERE before IS NULL OR end_ns > before
    OR (end_ns = before AND start_ns = end_ns)
),
launch AS (
  SELECT
    rid
  , thread_key
  , start_ns
  , max(end_ns) OVER (
      PARTITION BY thread_key ORDER BY start_ns, end_ns DESC, rid
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM _launch_call
),
-- There are three lists of spans: 'a' API calls, 'e' blocking API calls, 'o' API and OS calls.
cover(list, thread_key, start_ns, end_ns) AS (
  SELECT 'a', thread_key, start_ns, end_ns FROM _call
  UNION ALL
  SELECT 'e', thread_key, start_ns, end_ns FROM _blocking_call
  UNION ALL
  SELECT 'o', thread_key, start_ns, end_ns FROM _call
  UNION ALL
  SELECT 'o', thread_key, own_ns, end_ns FROM os_call
),
added AS ( -- the part of each span after the end of the spans before it in its list
  SELECT
    list
  , thread_key
  , max(start_ns, COALESCE(before, start_ns)) AS start_ns
  , end_ns
  FROM (
    SELECT
      *
    , max(end_ns) OVER (
        PARTITION BY list, thread_key ORDER BY start_ns, end_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM cover
  )
  WHERE end_ns > max(start_ns, COALESCE(before, start_ns))
),
-- Both ends of each span from which covered time is subtracted. The covered time inside is
-- that up to the end (sign 1) less that up to the start (sign -1).
asked(kind, rid, api_name, thread_key, at_ns, sign) AS (
  SELECT 'host_wait', rid, api_name, thread_key, own_ns, -1 FROM os_call
  UNION ALL
  SELECT 'host_wait', rid, api_name, thread_key, end_ns, 1 FROM os_call
  UNION ALL
  SELECT 'cpu_launcher_gap', rid, 'cpu_launcher_gap', thread_key, before, -1
  FROM launch WHERE start_ns - before >= 50000
  UNION ALL
  SELECT 'cpu_launcher_gap', rid, 'cpu_launcher_gap', thread_key, start_ns, 1
  FROM launch WHERE start_ns - before >= 50000
),
point(list, thread_key, at_ns, end_ns, kind, rid, api_name, sign) AS (
  SELECT list, thread_key, start_ns, end_ns, NULL, NULL, NULL, 0 FROM added
  UNION ALL
  SELECT column1, thread_key, at_ns, NULL, kind, rid, api_name, sign
  FROM asked, (VALUES ('a'), ('e'), ('o'))
),
-- ns is the time up to at_ns that the list covers: the length of all spans begun by then,
-- less the part of the last one that lies after at_ns.
covered AS (
  SELECT list, kind, rid, api_name, sign, at_ns
  , COALESCE(sum(end_ns - at_ns) OVER upto, 0)
    - max(0, COALESCE(max(end_ns) OVER upto, at_ns) - at_ns) AS ns
  , COALESCE(max(end_ns) OVER upto, at_ns) > at_ns AS is_inside
  FROM point
  WINDOW upto AS (
    PARTITION BY list, thread_key ORDER BY at_ns, abs(sign)
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
measured AS (
  SELECT
    kind
  , api_name
  , sum(CASE list WHEN 'a' THEN sign * at_ns END) AS ns
  , sum(CASE list WHEN 'a' THEN sign * ns END) AS in_api_ns
    -- The covered time of 'e' and 'o' less that of 'a' is the time of blocking calls, and of OS
    -- calls outside of API calls.
  , sum(CASE list WHEN 'a' THEN -sign ELSE sign END * ns) AS waited_ns
  , max(list = 'a' AND is_inside) AS touches_api
  FROM covered
  WHERE kind IS NOT NULL
  GROUP BY kind, rid, api_name
),
event(barrier_kind, api_name, ns) AS (
  SELECT barrier_kind, api_name, end_ns - start_ns FROM _blocking_call
  UNION ALL
  SELECT kind, api_name, ns - in_api_ns
  FROM measured
  WHERE kind = 'host_wait'
    AND (ns > in_api_ns OR (ns = 0 AND NOT touches_api))
  UNION ALL
  SELECT kind, api_name, ns - waited_ns
  FROM measured
  WHERE kind = 'cpu_launcher_gap' AND ns > waited_ns
)
SELECT
  barrier_kind
, api_name
, count(*) AS count
, sum(ns) / 1e6 AS total_time_ms
, sum(ns) / 1e3 / count(*) AS avg_duration_us
, max(ns) / 1e3 AS max_duration_us
FROM event
GROUP BY barrier_kind, api_name
ORDER BY total_time_ms DESC, count DESC, api_name
