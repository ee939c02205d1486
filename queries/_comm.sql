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
  , '_' || base_name AS _base
  , substr(kernel_name, 1, instr(replace(kernel_name, '<', '(') || '(', '(') - 1) AS scope
  FROM named
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
  OR NOT (
    base_name GLOB '*[gG]emm*' OR base_name GLOB '*GEMM*'
    OR base_name GLOB '*matmul*' OR base_name GLOB '*MatMul*'
    OR base_name GLOB '*[bB]lockAll*' OR base_name GLOB '*block_all*'
    OR base_name GLOB '*[wW]arpAll*' OR base_name GLOB '*warp_all*'
  ) AND (
    base_name GLOB '*AllReduce*' OR _base GLOB '*_all[rR]educe*' OR _base GLOB '*_all_reduce*'
    OR base_name GLOB '*AllGather*' OR _base GLOB '*_all[gG]ather*' OR _base GLOB '*_all_gather*'
    OR base_name GLOB '*ReduceScatter*' OR _base GLOB '*_reduce[sS]catter*'
    OR _base GLOB '*_reduce_scatter*'
    OR base_name GLOB '*AllToAll*' OR _base GLOB '*_alltoall*' OR _base GLOB '*_allToAll*'
    OR _base GLOB '*_all_to_all*' OR _base GLOB '*_all2all*'
    OR base_name GLOB '*A2A*' OR _base GLOB '*_a2a*'
    OR base_name GLOB '*SendRecv*' OR _base GLOB '*_send[rR]ecv*' OR _base GLOB '*_send_recv*'
    OR base_name GLOB '*TwoShot*' OR _base GLOB '*_two_shot*' OR base_name GLOB '*MoeComm*'
    OR _base GLOB '*_cross_device_reduce*' OR _base GLOB '*_multimem*'
    OR _base GLOB '*_nvshmem*' OR _base GLOB '*_userbuffers*'
    OR scope GLOB '*nccl::*' OR scope GLOB '*rccl::*' OR scope GLOB '*nvshmem::*'
    OR scope GLOB '*mscclpp::*' OR scope GLOB '*msccl::*' OR scope GLOB '*deep_ep::*'
    OR scope GLOB '*hybrid_ep::*' OR scope GLOB '*pplx::*' OR scope GLOB '*userbuffers::*'
    OR scope GLOB '*symm_mem::*' OR scope GLOB '*symmetric_memory::*'
  )
