-- CPU samples by (thread, innermost function, site).
-- @role check
-- @table rows
-- @col pid                 process
-- @col tid                 thread
-- @col function            innermost function; NULL: its module has no symbols
-- @col module              file of that function
-- @col called_from         function of the program that called it
-- @col called_from_module  file of the function called_from
-- @col samples             samples of this function at this site
-- @col pct_of_samples      share of all samples
-- @col gpu_idle_samples    samples taken while the process had no work on a GPU, between
--                          its first and its last GPU work
WITH
stack AS MATERIALIZED (
  SELECT id, function, module, called_from, called_from_module
  FROM _stack
  WHERE likely(kind = 'sample')
),
sound AS MATERIALIZED (
  SELECT
    s.rid
  , s.start_ns
  , CASE typeof(s.global_tid) WHEN 'integer' THEN s.global_tid ELSE 0 END
      AS thread_key
  , k.function, k.module, k.called_from, k.called_from_module
  FROM sample AS s
  LEFT JOIN stack AS k ON k.id = s.id
  WHERE typeof(s.start_ns) = 'integer'
    AND s.start_ns BETWEEN -2305843009213693952 AND 2305843009213693952
    AND s.cycles IS NOT 0
),
step(process_key, at_ns, turn, rid) AS ( -- turn is 1 if work begins, -1 if it ends, 0 for a sample
  SELECT process_key, start_ns, 1, NULL FROM _gpu_work
  UNION ALL
  SELECT process_key, end_ns, -1, NULL FROM _gpu_work
  UNION ALL
  SELECT thread_key & ~0xFFFFFF, start_ns, 0, rid FROM sound
),
-- At one instant ends of work come first, then starts of work, then samples.
swept AS (
  SELECT
    rid
  , sum(turn) OVER earlier AS running
  , max(turn) OVER earlier AS begun
  , at_ns < max(CASE turn WHEN -1 THEN at_ns END) OVER (
      PARTITION BY process_key) AS goes_on
  FROM step
  WINDOW earlier AS (
    PARTITION BY process_key ORDER BY at_ns, turn = 0, turn
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
idle AS (
  SELECT rid FROM swept
  WHERE rid IS NOT NULL AND running = 0 AND begun = 1 AND goes_on
)
SELECT
  thread_key >> 24 & 0xFFFFFF AS pid
, thread_key & 0xFFFFFF AS tid
, function
, module
, called_from
, called_from_module
, count(*) AS samples
, 100.0 * count(*) / (SELECT count(*) FROM sound) AS pct_of_samples
, sum(rid IN (SELECT rid FROM idle)) AS gpu_idle_samples
FROM sound
GROUP BY thread_key, function, module, called_from, called_from_module
ORDER BY samples DESC, pid, tid, function, module, called_from
, called_from_module
