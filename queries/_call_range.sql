-- API calls that start GPU work, wait, or allocate or free memory, each with the innermost
-- NVTX range open on its thread when the call begins. Ranges of the user's domains go
-- before those of libraries. Calls outside all ranges are left out. is_told is true for
-- calls that wait, allocate or free: call_sites lists these even without a backtrace.
WITH
told AS (
  SELECT rid, thread_key, start_ns, is_told
  FROM (
    SELECT
      rid
    , thread_key
    , start_ns
    , corr
    , word GLOB 'Malloc*' OR word GLOB 'MemAlloc*' OR word GLOB 'Free*'
        OR word GLOB 'MemFree*' OR word GLOB 'HostAlloc*'
        OR word GLOB 'HostRegister*' OR word GLOB 'HostUnregister*'
        OR word GLOB 'MemHostAlloc*' OR word GLOB 'MemHostRegister*'
        OR word GLOB 'MemHostUnregister*' OR word GLOB 'MemMap*'
        OR word GLOB 'MemUnmap*' OR word GLOB 'MemCreate*'
        OR word GLOB 'MemRelease*'
        OR rid IN (SELECT rid FROM _sync_call) AS is_told
    FROM (
      SELECT *
      , CASE
          WHEN api_base GLOB 'cuda*' THEN substr(api_base, 5)
          WHEN api_base GLOB 'cu*' THEN substr(api_base, 3)
          ELSE ''
        END AS word
      FROM _call
    )
  )
  WHERE is_told OR corr IN (
    SELECT corr FROM kernel
    UNION SELECT corr FROM memcpy
    UNION SELECT corr FROM memset)
),
-- Ranges of a thread that overlap, directly or through others, form a group, which its
-- first start identifies. A call is compared only with the ranges of the last group that
-- began before the call, because all earlier groups have ended.
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
point(thread_key, at_ns, group_ns, call_rid, is_told) AS (
  SELECT thread_key, start_ns, NULL, rid, is_told FROM told
  UNION ALL
  SELECT DISTINCT thread_key, group_ns, group_ns, NULL, NULL FROM stack
),
call AS MATERIALIZED (
  SELECT
    thread_key
  , at_ns
  , call_rid
  , is_told
  , max(group_ns) OVER (PARTITION BY thread_key ORDER BY at_ns) AS group_ns
  FROM point
)
SELECT call_rid, is_told, range_rid, range_name, label
FROM (
  SELECT
    c.call_rid
  , c.is_told
  , r.rid AS range_rid
  , r.range_name
  , r.label
  , row_number() OVER (
      PARTITION BY c.call_rid
      ORDER BY r.is_library, r.start_ns DESC, r.end_ns, r.domain_id DESC
      , r.range_name DESC
    ) AS nth
  FROM call AS c
  JOIN stack AS r
    ON r.thread_key = c.thread_key
    AND r.group_ns = c.group_ns
    AND r.start_ns <= c.at_ns
    AND (r.end_ns > c.at_ns OR r.is_open)
  WHERE c.call_rid IS NOT NULL
)
WHERE nth = 1
