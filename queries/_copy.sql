-- Well-formed copies, each with its process, the GPU that its device ordinal means in that
-- process ('' if not known) and a word for its direction. bytes is NULL if the recorded
-- size is not a valid number.
WITH sound AS (
  SELECT
    rid
  , start_ns
  , end_ns
  , CASE typeof(device_id) WHEN 'integer' THEN device_id ELSE 0 END
      AS device_id
  , CASE
      WHEN typeof(global_pid) = 'integer' THEN global_pid & ~0xFFFFFF
      WHEN typeof(pid) = 'integer' THEN pid << 24
      ELSE (SELECT process_key FROM _lone_process)
    END AS process_key
  , CASE typeof(corr) WHEN 'integer' THEN corr ELSE 0 END AS corr
  , CASE WHEN typeof(copy_kind) = 'integer' AND copy_kind BETWEEN 0 AND 254
      THEN copy_kind ELSE 0 END AS kind
  , CASE WHEN typeof(src_kind) = 'integer' AND src_kind BETWEEN 0 AND 254
      THEN src_kind ELSE 7 END AS src
  , CASE WHEN typeof(dst_kind) = 'integer' AND dst_kind BETWEEN 0 AND 254
      THEN dst_kind ELSE 7 END AS dst
  , CASE WHEN typeof(bytes) = 'integer'
          AND bytes BETWEEN 0 AND 2305843009213693952
      THEN bytes END AS bytes
  FROM memcpy
  WHERE typeof(start_ns) = 'integer'
    AND typeof(end_ns) = 'integer'
    AND end_ns >= start_ns
    AND start_ns >= -2305843009213693952
    AND end_ns <= 2305843009213693952
)
SELECT
  m.*
, COALESCE((
    SELECT COALESCE(d.uuid, g.uuid, 'gpu' || d.gpu_id)
    FROM cuda_device AS d
    LEFT JOIN gpu AS g ON g.id = d.gpu_id
    WHERE d.pid = m.process_key >> 24 & 0xFFFFFF
      AND d.cuda_id = m.device_id
      -- The upper bits of the id name the host: two hosts may have equal pids.
      AND (EXISTS (
        SELECT 1 FROM gpu AS own
        WHERE own.uuid = d.uuid AND own.vm_id >> 48 = m.process_key >> 48
      ) OR NOT EXISTS (
        SELECT 1 FROM gpu AS own JOIN cuda_device AS e ON e.uuid = own.uuid
        WHERE e.pid = d.pid AND e.cuda_id = d.cuda_id
          AND own.vm_id >> 48 = m.process_key >> 48
      ))
    ORDER BY d.rid DESC
    LIMIT 1
  ), '') AS gpu
, CASE m.kind
    WHEN 1 THEN 'HtoD' WHEN 2 THEN 'DtoH' WHEN 3 THEN 'HtoA'
    WHEN 4 THEN 'AtoH' WHEN 5 THEN 'AtoA' WHEN 6 THEN 'AtoD'
    WHEN 7 THEN 'DtoA' WHEN 8 THEN 'DtoD' WHEN 9 THEN 'HtoH'
    WHEN 10 THEN 'PtoP' WHEN 11 THEN 'UVM HtoD' WHEN 12 THEN 'UVM DtoH'
    WHEN 13 THEN 'UVM DtoD'
    ELSE 'Unknown'
  END AS direction
FROM sound AS m
