-- Communication kernels. The base name is the short name or, without one, the full name up
-- to its arguments. Kernels of NCCL and RCCL are recognised by the prefix of the base name.
-- Kernels of other libraries are recognised by a word in the base name (AllReduce,
-- allreduce or all_reduce) or by a namespace in the full name.
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
  SELECT
    *
  , replace(lower(base_name), '_', '') AS word
  , substr(kernel_name, 1, instr(replace(kernel_name, '<', '(') || '(', '(') - 1) AS scope
  FROM named
)
, spelt AS ( -- each word of the base name begins with "_"
  SELECT
    *
  , replace(replace(lower(
      replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
      replace(replace(replace(replace(replace(replace(
      '_' || base_name, 'A', '_a'), 'C', '_c'), 'D', '_d'), 'G', '_g'), 'M', '_m'), 'N', '_n'),
      'R', '_r'), 'S', '_s'), 'T', '_t'), 'U', '_u'), 'B', '_b'), 'F', '_f'), 'K', '_k'),
      'O', '_o'), 'P', '_p'), 'W', '_w')), '___', '_'), '__', '_') AS words
  , '::' || replace(scope, ' ', '::') AS path
  FROM flat
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
FROM spelt
WHERE word GLOB 'nccl*'
  OR word GLOB 'rccl*'
  OR NOT (
    word GLOB '*gemm*' OR word GLOB '*matmul*' OR word GLOB '*blockall*' OR word GLOB '*warpall*'
  ) AND (
    words GLOB '*_allreduce*' OR words GLOB '*_all_reduce*'
    OR words GLOB '*_allgather*' OR words GLOB '*_all_gather*'
    OR words GLOB '*_reducescatter*' OR words GLOB '*_reduce_scatter*'
    OR words GLOB '*_alltoall*' OR words GLOB '*_allto_all*' OR words GLOB '*_all_to_all*'
    OR words GLOB '*_all2all*' OR words GLOB '*_all2_all*'
    OR words GLOB '*_a2a*' OR words GLOB '*_a2_a*'
    OR words GLOB '*_sendrecv*' OR words GLOB '*_send_recv*'
    OR words GLOB '*_twoshot*' OR words GLOB '*_two_shot*' OR words GLOB '*_moe_comm*'
    OR words GLOB '*_cross_device_reduce*' OR words GLOB '*_multimem*'
    OR words GLOB '*_nvshmem*' OR words GLOB '*userbuffers*'
    OR words GLOB '*shmem_put*' OR words GLOB '*shmem_get*' OR words GLOB '*_on_stream_kernel*'
    OR words GLOB '*_fcollect*' OR words GLOB '*_barrier_all*' OR words GLOB '*_put_signal*'
    OR words GLOB '*_wait_signal*' OR words GLOB '*_wait_until*' OR words GLOB '*_put_nbi*'
    OR words GLOB '*_get_nbi*' OR words GLOB '*_ucp_*' OR words GLOB '*_ucx_*'
    OR path GLOB '*::nccl*::*' OR path GLOB '*::rccl*::*' OR path GLOB '*::nvshmem*::*'
    OR path GLOB '*::msccl*::*' OR path GLOB '*::deep_ep*::*' OR path GLOB '*::deepep*::*'
    OR path GLOB '*::hybrid_ep*::*' OR path GLOB '*::pplx*::*' OR path GLOB '*::userbuffers*::*'
    OR path GLOB '*::symm_mem*::*' OR path GLOB '*::symmetric_memory*::*'
  )
