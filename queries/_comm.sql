-- Communication kernels by their base name: the short name, else the full one
-- up to its arguments. Custom kernels of other libraries are told by words.
WITH named AS (
  SELECT
    k.*
  , CASE
      WHEN s.text IS NOT NULL THEN s.text
      WHEN instr(k.kernel_name, '(') > 0
      THEN substr(k.kernel_name, 1, instr(k.kernel_name, '(') - 1)
      ELSE k.kernel_name
    END AS base_name
  FROM _kernel AS k
  JOIN kernel AS raw ON raw.rid = k.rid
  LEFT JOIN _string AS s ON s.id = raw.short_name
)
, flat AS (
  SELECT *, replace(lower(base_name), '_', '') AS word FROM named
)
SELECT
  rid
, start_ns
, end_ns
, device_id
, process_key
, kernel_name
, CASE
    WHEN word NOT GLOB 'nccl*' AND word NOT GLOB 'rccl*' THEN base_name
    WHEN word LIKE '%allreduce%' THEN 'allreduce'
    WHEN word LIKE '%allgather%' THEN 'allgather'
    WHEN word LIKE '%reducescatter%' THEN 'reducescatter'
    WHEN word LIKE '%broadcast%' THEN 'broadcast'
    WHEN word LIKE '%sendrecv%' THEN 'sendrecv'
    WHEN word LIKE '%alltoall%' THEN 'alltoall'
    WHEN word LIKE '%reduce%' THEN 'reduce'
    WHEN word LIKE '%gather%' THEN 'gather'
    WHEN word LIKE '%scatter%' THEN 'scatter'
    ELSE base_name
  END AS op_name
FROM flat
WHERE word GLOB 'nccl*'
  OR word GLOB 'rccl*'
  OR word GLOB 'crossdevicereduce*'
  OR word GLOB 'multimemallreduce*'
  OR word GLOB 'nvshmem*'
  OR word LIKE '%oneshotallreduce%'
  OR word LIKE '%twoshot%'
  OR word LIKE '%allreducefusion%'
  OR (
    (word LIKE '%dispatch%' OR word LIKE '%combine%')
    AND (kernel_name LIKE '%deep_ep%' OR kernel_name LIKE '%hybrid_ep%')
  )
