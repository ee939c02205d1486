-- Calls that have a backtrace, by (thread, call, site).
-- @role check
-- @table rows
-- @col pid            process
-- @col tid            thread
-- @col kind           cuda or os
-- @col api_name       the call
-- @col called_from    function of the program that called it; NULL: no symbol
-- @col module         file that is in
-- @col count          calls
-- @col total_time_ms  sum of their durations
-- @col avg_us         total over count
-- @col max_us         longest
WITH
backtrace AS ( -- of several the one whose site comes first by text
  SELECT
    COALESCE(
      CASE typeof(r.global_tid) WHEN 'integer' THEN r.global_tid & ~0xFFFFFF END
    , CASE typeof(r.pid) WHEN 'integer' THEN r.pid << 24 END
    , 0) AS process_key
  , r.corr
  , k.has_site, k.called_from, k.called_from_module
  , row_number() OVER (
      PARTITION BY COALESCE(
        CASE typeof(r.global_tid)
          WHEN 'integer' THEN r.global_tid & ~0xFFFFFF END
      , CASE typeof(r.pid) WHEN 'integer' THEN r.pid << 24 END
      , 0), r.corr
      ORDER BY NOT has_site, k.called_from, k.called_from_module) AS nth
  FROM runtime AS r
  JOIN _stack AS k ON k.kind = 'cuda' AND k.id = r.callchain
  WHERE typeof(r.callchain) = 'integer'
    AND r.corr BETWEEN 1 AND 4294967294
),
called(thread_key, kind, api_name, called_from, module, ns) AS (
  SELECT
    c.thread_key, 'cuda', c.api_name, b.called_from, b.called_from_module
  , c.end_ns - c.start_ns
  FROM _host_call AS c
  JOIN backtrace AS b
    ON b.process_key = c.process_key AND b.corr = c.corr
  WHERE b.nth = 1 AND b.has_site
  UNION ALL
  SELECT
    c.thread_key, 'os', c.api_name, k.called_from, k.called_from_module
  , c.end_ns - c.start_ns
  FROM _os_call AS c
  JOIN osrt AS o ON o.rid = c.rid
  JOIN _stack AS k ON k.kind = 'osrt' AND k.id = o.callchain
  WHERE typeof(o.callchain) = 'integer'
    AND k.has_site
)
SELECT
  thread_key >> 24 & 0xFFFFFF AS pid
, thread_key & 0xFFFFFF AS tid
, kind
, api_name
, called_from
, module
, count(*) AS count
, sum(ns) / 1e6 AS total_time_ms
, CAST(sum(ns) AS REAL) / count(*) / 1e3 AS avg_us
, max(ns) / 1e3 AS max_us
FROM called
GROUP BY thread_key, kind, api_name, called_from, module
ORDER BY total_time_ms DESC, count DESC, pid, tid, kind, api_name
