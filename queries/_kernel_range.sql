-- Each kernel with the call that launched it and the innermost range open on the
-- calling thread where that call begins: of the user's domains, else of a
-- library's. Without a call, or outside of ranges, these are NULL.
WITH
host_call AS ( -- of the calls with one id the one around the others
  SELECT *
  FROM (
    SELECT
      process_key
    , corr
    , rid
    , start_ns
    , thread_key
    , row_number() OVER (
        PARTITION BY process_key, corr ORDER BY start_ns, end_ns DESC, rid
      ) AS nth
    FROM _call
    WHERE corr BETWEEN 1 AND 4294967294
  )
  WHERE nth = 1
),
-- Ranges of a thread that overlap, or are joined by others, are a group, told by
-- its start: a call need only be held against those of the last group begun.
stack AS MATERIALIZED (
  SELECT
    *
  , max(CASE WHEN before IS NULL OR before < start_ns THEN start_ns END)
      OVER (PARTITION BY thread_key ORDER BY start_ns) AS group_ns
  FROM (
    SELECT
      *
    , max(CASE WHEN is_open THEN 4611686018427387904 ELSE end_ns END) OVER (
        PARTITION BY thread_key ORDER BY start_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM _range
    WHERE kind = 'stack'
  )
),
point(thread_key, at_ns, group_ns, process_key, corr, call_rid) AS (
  SELECT DISTINCT thread_key, group_ns, group_ns, NULL, NULL, NULL FROM stack
  UNION ALL
  SELECT thread_key, start_ns, NULL, process_key, corr, rid FROM host_call
),
call AS MATERIALIZED (
  SELECT
    thread_key
  , at_ns
  , process_key
  , corr
  , call_rid
  , max(group_ns) OVER (PARTITION BY thread_key ORDER BY at_ns) AS group_ns
  FROM point
)
SELECT rid, process_key, pid, ns, call_rid, range_rid, range_name
FROM (
  SELECT
    k.rid
  , k.process_key
  , k.pid
  , k.end_ns - k.start_ns AS ns
  , c.call_rid
  , r.rid AS range_rid
  , r.range_name
  , row_number() OVER (
      PARTITION BY k.rid
      ORDER BY r.is_library, r.start_ns DESC, r.end_ns, r.domain_id DESC
      , r.range_name DESC
    ) AS nth
  FROM _kernel AS k
  LEFT JOIN call AS c ON c.process_key = k.process_key AND c.corr = k.corr
  LEFT JOIN stack AS r
    ON r.thread_key = c.thread_key
    AND r.group_ns = c.group_ns
    AND r.start_ns <= c.at_ns
    AND (r.end_ns > c.at_ns OR r.is_open)
)
WHERE nth = 1
