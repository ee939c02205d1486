-- Well-formed kernels, each with its name as text, its process, and the GPU that its device
-- ordinal means in that process ('' if not known).
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
  , context_id
  , stream_id
  , CASE
      WHEN typeof(name) IN ('integer', 'text') THEN name
      WHEN typeof(short_name) IN ('integer', 'text') THEN short_name
    END AS name
  FROM kernel
  WHERE typeof(start_ns) = 'integer'
    AND typeof(end_ns) = 'integer'
    AND end_ns >= start_ns
    AND start_ns >= -2305843009213693952
    AND end_ns <= 2305843009213693952
)
SELECT
  k.rid
, k.start_ns
, k.end_ns
, k.device_id
, COALESCE((
    SELECT COALESCE(d.uuid, g.uuid, 'gpu' || d.gpu_id)
    FROM cuda_device AS d
    LEFT JOIN gpu AS g ON g.id = d.gpu_id
    WHERE d.pid = k.process_key >> 24 & 0xFFFFFF
      AND d.cuda_id = k.device_id
      -- The upper bits of the id name the host: two hosts may have equal pids.
      AND (EXISTS (
        SELECT 1 FROM gpu AS own
        WHERE own.uuid = d.uuid AND own.vm_id >> 48 = k.process_key >> 48
      ) OR NOT EXISTS (
        SELECT 1 FROM gpu AS own JOIN cuda_device AS e ON e.uuid = own.uuid
        WHERE e.pid = d.pid AND e.cuda_id = d.cuda_id
          AND own.vm_id >> 48 = k.process_key >> 48
      ))
    ORDER BY d.rid DESC
    LIMIT 1
  ), '') AS gpu
, k.process_key
, k.process_key >> 24 & 0xFFFFFF AS pid
, k.corr
, k.context_id
, k.stream_id
, CASE typeof(k.name)
    WHEN 'text' THEN k.name
    WHEN 'null' THEN '(unnamed)'
    ELSE COALESCE(s.text, 'id:' || k.name)
  END AS kernel_name
FROM sound AS k
LEFT JOIN _string AS s ON s.id = k.name
