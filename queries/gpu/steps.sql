-- Steps of inference engines and training loops: ranges whose name marks a step. One row for
-- each device that was given work in the step. A range inside another such range of its
-- thread is left out.
-- @role check
-- @table rows
-- @col process       pid of the process
-- @col device_id     CUDA ordinal
-- @col range_name    name of the range
-- @col start_ns      start of the range
-- @col end_ns        end of the range
-- @col host_gap_ns   from the end of the range to the next step of its thread
WITH
named AS (
  SELECT
    *
  , range_name GLOB 'execute_context_*(*)_generation_*(*)'
    OR range_name GLOB 'execute_*_context_*(sq*)_generation_*(sq*)'
    OR range_name GLOB 'execute_new_*_cached_*'
    OR range_name GLOB 'step[[]*bs=*'
    OR range_name GLOB '[[]Executor] _forward_step*ctx reqs*gen reqs'
    OR range_name GLOB '_forward_step: *ctx reqs, *gen reqs'
      AS is_engine
  , range_name GLOB 'ProfilerStep#*' OR range_name = '[pl][profile]run_training_batch'
    OR range_name IN ('iteration', 'step', 'train_step', 'training_step')
    OR range_name GLOB '*[0-9]' AND rtrim(range_name, '0123456789') IN ('iteration'
      , 'iteration ', 'iteration_', 'Iteration ', 'iter_', 'step ', 'step_', 'Step '
      , 'batch_', 'Batch ')
      AS is_training
  FROM _range
),
chosen AS MATERIALIZED (
  SELECT
    *
  , max(end_ns) OVER (PARTITION BY thread_key
      ORDER BY start_ns, end_ns DESC, range_name
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
  FROM named
  WHERE kind IN ('stack', 'async') AND (is_engine
    OR is_training AND process_key NOT IN (SELECT process_key FROM named WHERE is_engine))
),
step AS MATERIALIZED (
  SELECT
    *
  , max(0, lead(start_ns) OVER (PARTITION BY thread_key ORDER BY start_ns) - end_ns)
      AS host_gap_ns
  FROM chosen
  WHERE before_ns IS NULL OR end_ns > before_ns
),
work(process_key, device_id, corr, start_ns) AS (
  SELECT process_key, device_id, corr, start_ns FROM _kernel
  UNION SELECT process_key, device_id, corr, start_ns FROM _copy
  UNION SELECT COALESCE(global_pid & ~0xFFFFFF, pid << 24), device_id, corr, start_ns FROM memset
  UNION SELECT COALESCE(global_pid & ~0xFFFFFF, pid << 24), device_id, corr, start_ns FROM graph
),
launched AS MATERIALIZED (
  SELECT c.thread_key, c.process_key, c.start_ns AS at, w.device_id
  FROM work AS w
  JOIN _host_call AS c ON c.process_key = w.process_key AND c.corr = w.corr
    AND w.start_ns >= c.since_ns AND w.start_ns < c.until_ns
),
-- The step of each operation is the one open on the launching thread or, without one, the last
-- step that the process began, if it is still open.
met AS (
  SELECT
    device_id
  , COALESCE(
      (SELECT s.rid FROM step AS s
       WHERE s.thread_key = l.thread_key AND s.start_ns <= at AND at < s.end_ns
       ORDER BY s.start_ns DESC LIMIT 1)
    , (SELECT iif(at < end_ns, rid, NULL)
       FROM (SELECT s.rid, s.end_ns FROM step AS s
             WHERE s.process_key = l.process_key AND s.start_ns <= at
             ORDER BY s.start_ns DESC, s.thread_key DESC LIMIT 1))
    ) AS step_rid
  FROM launched AS l
)
SELECT DISTINCT
  s.pid AS process
, m.device_id
, s.range_name
, s.start_ns
, s.end_ns
, s.host_gap_ns
FROM met AS m
JOIN step AS s ON s.rid = m.step_rid
ORDER BY process, m.device_id, s.start_ns, s.range_name
