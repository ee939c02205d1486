-- Communication kernels by operation. A trace without any GPU work is described by NCCL's
-- NVTX ranges on the host instead.
-- @role check
-- @table ops
-- @col op_name          collective, or the base name of another kernel
-- @col source           kernel or nvtx
-- @col count            executions
-- @col total_time_ms    sum of durations
-- @col max_duration_ms  longest
WITH host AS (
  SELECT
    start_ns
  , end_ns
  , replace(replace(lower(range_name), 'nccl', ''), 'rccl', '') AS word
  FROM _range
  WHERE NOT is_open
    AND (range_name LIKE 'nccl%' OR range_name LIKE 'rccl%' OR is_library)
    AND NOT EXISTS (SELECT 1 FROM _kernel)
    AND NOT EXISTS (SELECT 1 FROM memcpy)
    AND NOT EXISTS (SELECT 1 FROM memset)
    AND NOT EXISTS (SELECT 1 FROM graph)
)
, event AS (
  SELECT op_name, 'kernel' AS source, end_ns - start_ns AS ns
  FROM _comm
  UNION ALL
  SELECT
    CASE
      WHEN word LIKE 'allreduce%' THEN 'allreduce'
      WHEN word LIKE 'allgather%' THEN 'allgather'
      WHEN word LIKE 'reducescatter%' THEN 'reducescatter'
      WHEN word LIKE 'broadcast%' THEN 'broadcast'
      WHEN word LIKE 'reduce%' THEN 'reduce'
      WHEN word LIKE 'sendrecv%' THEN 'sendrecv'
      WHEN word LIKE 'alltoall%' THEN 'alltoall'
      WHEN word LIKE 'gather%' THEN 'gather'
      WHEN word LIKE 'scatter%' THEN 'scatter'
    END
  , 'nvtx'
  , end_ns - start_ns
  FROM host
)
SELECT
  op_name
, source
, count(*) AS count
, sum(ns) / 1e6 AS total_time_ms
, max(ns) / 1e6 AS max_duration_ms
FROM event
WHERE op_name IS NOT NULL
GROUP BY op_name, source
ORDER BY total_time_ms DESC, max_duration_ms DESC, op_name
