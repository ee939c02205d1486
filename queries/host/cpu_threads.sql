-- Time on a CPU by thread. A thread is on a CPU from a switch in to its next row.
-- @role check
-- @table rows
-- @col pid               process
-- @col tid               thread
-- @col on_cpu_ms         time on a CPU
-- @col utilization_pct   share of the time in which scheduling was traced
-- @col context_switches  times the thread left a CPU
-- @col migrations        times the thread returned on another CPU
WITH
sound AS (
  SELECT
    rid
  , start_ns
  , CASE typeof(cpu) WHEN 'integer' THEN cpu ELSE -2147483648 END AS cpu
  , is_sched_in <> 0 AS is_in
  , global_tid AS thread_key
  FROM sched
  WHERE typeof(start_ns) = 'integer'
    AND typeof(is_sched_in) = 'integer'
    AND typeof(global_tid) = 'integer'
    AND start_ns BETWEEN -2305843009213693952 AND 2305843009213693952
),
-- turns is the state after all rows of one instant: 1 on a CPU, 0 off it, NULL as before. One
-- switch in together with switches out leaves the thread as it was, because a thread that was
-- off came on first. Two switches in at one instant leave it on.
instant AS (
  SELECT
    thread_key
  , start_ns
  , lead(start_ns) OVER thread - start_ns AS ns
  , sum(NOT is_in) AS outs
  , CASE WHEN sum(NOT is_in) = 0 OR sum(is_in) > 1 THEN 1
      WHEN sum(is_in) = 0 THEN 0 END AS turns
  FROM sound
  GROUP BY thread_key, start_ns
  WINDOW thread AS (PARTITION BY thread_key ORDER BY start_ns)
),
turn AS (
  SELECT
    *
  , count(turns) OVER (PARTITION BY thread_key ORDER BY start_ns) AS nth
  FROM instant
),
step AS (
  SELECT
    thread_key
  , outs
  , ns * COALESCE(max(turns) OVER (PARTITION BY thread_key, nth), 0) AS on_ns
  FROM turn
),
came AS (
  SELECT
    thread_key
  , cpu <> lag(cpu) OVER (
      PARTITION BY thread_key ORDER BY start_ns, is_in, cpu) AS moved
  FROM sound
  WHERE is_in
),
moves AS (
  SELECT thread_key, COALESCE(sum(moved), 0) AS migrations
  FROM came
  GROUP BY thread_key
),
traced AS (
  SELECT
    max(max(start_ns), COALESCE((SELECT max(duration_ns) FROM analysis), max(start_ns)))
      - min(start_ns) AS ns
  FROM sound
)
SELECT
  s.thread_key >> 24 & 0xFFFFFF AS pid
, s.thread_key & 0xFFFFFF AS tid
, COALESCE(sum(s.on_ns), 0) / 1e6 AS on_cpu_ms
, 100.0 * COALESCE(sum(s.on_ns), 0)
    / nullif((SELECT ns FROM traced), 0) AS utilization_pct
, sum(s.outs) AS context_switches
, COALESCE(m.migrations, 0) AS migrations
FROM step AS s
LEFT JOIN moves AS m ON m.thread_key = s.thread_key
GROUP BY s.thread_key
ORDER BY on_cpu_ms DESC, context_switches DESC, pid, tid
