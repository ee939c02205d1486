-- Calls and the GPU work they started, by the place in the program: the call's backtrace and
-- its innermost NVTX range.
-- @role check
-- @table rows
-- @col pid            process
-- @col tid            thread of the call
-- @col kind           cuda or os: a call; kernel, copy or memset: what it started
-- @col api_name       name of the call or kernel, or direction of the copy
-- @col called_from    function of the program that called it; NULL: not known
-- @col module         file of that function
-- @col range_name     innermost range open where the call began
-- @col count          number of calls, or of operations they started
-- @col total_time_ms  sum of their durations
-- @col avg_us         total over count
-- @col max_us         longest
WITH
-- from_zero is 1 in exports that count stacks from 1 but the calls' references to them from
-- 0. In these, one call refers to stack 0, which does not exist, and none to the last stack.
counted(from_zero) AS (
  SELECT
    (SELECT min(id) FROM cuda_frame WHERE typeof(id) = 'integer') = 1
    AND max(callchain) + 1
      = (SELECT max(id) FROM cuda_frame WHERE typeof(id) = 'integer')
    AND sum(callchain = 0) = 1
  FROM runtime
  WHERE typeof(callchain) = 'integer' AND corr BETWEEN 1 AND 4294967294
),
backtrace AS ( -- of several backtraces of a call, nth 1 is the one whose site sorts first
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
  CROSS JOIN counted
  JOIN _stack AS k
    ON k.kind = 'cuda' AND k.id = r.callchain + COALESCE(from_zero, 0)
  WHERE typeof(r.callchain) = 'integer'
    AND r.corr BETWEEN 1 AND 4294967294
),
-- The site and innermost range of each call. is_nested is true if the call lies inside an
-- earlier call of its thread.
site AS MATERIALIZED (
  SELECT
    c.rid, c.process_key, c.thread_key, c.api_name, c.end_ns - c.start_ns AS ns
  , h.corr, h.since_ns, h.until_ns, b.has_site, b.called_from, b.called_from_module, r.range_rid
  , r.range_name, r.is_told
  , COALESCE(max(c.end_ns) OVER (
      PARTITION BY c.thread_key ORDER BY c.start_ns, c.end_ns DESC, c.rid
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) >= c.end_ns, 0)
      AS is_nested
  FROM _call AS c
  LEFT JOIN _host_call AS h ON h.rid = c.rid
  LEFT JOIN backtrace AS b
    ON b.process_key = h.process_key AND b.corr = h.corr AND b.nth = 1
    AND b.has_site AND h.since_ns = -9223372036854775808
  LEFT JOIN _call_range AS r ON r.call_rid = c.rid
),
work(process_key, corr, kind, name, ns, start_ns) AS MATERIALIZED (
  SELECT process_key, corr, 'kernel', kernel_name, end_ns - start_ns, start_ns
  FROM _kernel
  UNION ALL
  SELECT process_key, corr, 'copy'
  , direction || CASE
      WHEN kind = 1 AND src = 0 OR kind = 2 AND dst = 0 THEN ' pageable'
      ELSE ''
    END
  , end_ns - start_ns, start_ns
  FROM _copy
  UNION ALL
  SELECT
    CASE
      WHEN typeof(global_pid) = 'integer' THEN global_pid & ~0xFFFFFF
      WHEN typeof(pid) = 'integer' THEN pid << 24
      ELSE (SELECT process_key FROM _lone_process)
    END
  , CASE typeof(corr) WHEN 'integer' THEN corr ELSE 0 END
  , 'memset', 'memset', end_ns - start_ns, start_ns
  FROM memset
  WHERE typeof(start_ns) = 'integer'
    AND typeof(end_ns) = 'integer'
    AND end_ns >= start_ns
    AND start_ns >= -2305843009213693952
    AND end_ns <= 2305843009213693952
),
called(thread_key, kind, name, called_from, module, range_name, ns) AS (
  SELECT
    s.thread_key, w.kind, w.name, s.called_from, s.called_from_module
  , s.range_name, w.ns
  FROM work AS w
  JOIN site AS s ON s.process_key = w.process_key AND s.corr = w.corr
    AND w.start_ns >= s.since_ns AND w.start_ns < s.until_ns
  WHERE s.has_site OR s.range_rid IS NOT NULL
  UNION ALL
  SELECT
    s.thread_key, 'cuda', s.api_name, s.called_from, s.called_from_module
  , s.range_name, s.ns
  FROM site AS s
  WHERE s.has_site OR s.is_told AND NOT s.is_nested
  UNION ALL
  SELECT
    c.thread_key, 'os', c.api_name, k.called_from, k.called_from_module, NULL
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
, name AS api_name
, called_from
, module
, range_name
, count(*) AS count
, sum(ns) / 1e6 AS total_time_ms
, CAST(sum(ns) AS REAL) / count(*) / 1e3 AS avg_us
, max(ns) / 1e3 AS max_us
FROM called
GROUP BY thread_key, kind, name, called_from, module, range_name
ORDER BY total_time_ms DESC, count DESC, pid, tid, kind, api_name
