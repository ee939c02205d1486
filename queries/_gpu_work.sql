-- All work of the GPUs: kernels, copies, memsets and whole-graph replays. A peer copy has a
-- second row for its other device, if that device also ran work of its own. device_key
-- identifies the GPU.
WITH
plain(is_peer, is_kernel, start_ns, end_ns, device_id, process_key) AS (
  SELECT
    0, 0, start_ns, end_ns
  , CASE typeof(device_id) WHEN 'integer' THEN device_id ELSE 0 END
  , CASE
      WHEN typeof(global_pid) = 'integer' THEN global_pid & ~0xFFFFFF
      WHEN typeof(pid) = 'integer' THEN pid << 24
      ELSE (SELECT process_key FROM _lone_process)
    END
  FROM memset
  WHERE typeof(start_ns) = 'integer' AND typeof(end_ns) = 'integer'
  UNION ALL
  SELECT
    0, 1, start_ns, end_ns
  , CASE typeof(device_id) WHEN 'integer' THEN device_id ELSE 0 END
  , CASE
      WHEN typeof(global_pid) = 'integer' THEN global_pid & ~0xFFFFFF
      WHEN typeof(pid) = 'integer' THEN pid << 24
      ELSE (SELECT process_key FROM _lone_process)
    END
  FROM graph
  WHERE typeof(start_ns) = 'integer' AND typeof(end_ns) = 'integer'
  UNION ALL
  SELECT 0, 1, start_ns, end_ns, device_id, process_key
  FROM _kernel
  UNION ALL
  SELECT 0, 0, start_ns, end_ns, device_id, process_key
  FROM _copy
  UNION ALL -- the other end of a peer copy
  SELECT 1, 0, c.start_ns, c.end_ns
  , CASE raw.src_device_id
      WHEN c.device_id THEN raw.dst_device_id
      ELSE raw.src_device_id
    END
  , c.process_key
  FROM _copy AS c
  JOIN memcpy AS raw ON raw.rid = c.rid
  WHERE c.kind = 10
    AND raw.src_device_id <> raw.dst_device_id
    AND c.device_id IN (raw.src_device_id, raw.dst_device_id)
)
, placed AS (
  SELECT
    p.*
  , COALESCE((
      SELECT COALESCE(d.uuid, g.uuid, 'gpu' || d.gpu_id)
      FROM cuda_device AS d
      LEFT JOIN gpu AS g ON g.id = d.gpu_id
      WHERE d.pid = p.process_key >> 24 & 0xFFFFFF
        AND d.cuda_id = p.device_id
        -- The upper bits of the id name the host: two hosts may have equal pids.
        AND (EXISTS (
          SELECT 1 FROM gpu AS own
          WHERE own.uuid = d.uuid AND own.vm_id >> 48 = p.process_key >> 48
        ) OR NOT EXISTS (
          SELECT 1 FROM gpu AS own JOIN cuda_device AS e ON e.uuid = own.uuid
          WHERE e.pid = d.pid AND e.cuda_id = d.cuda_id
            AND own.vm_id >> 48 = p.process_key >> 48
        ))
      ORDER BY d.rid DESC
      LIMIT 1
    ), 'ordinal ' || p.device_id) AS device_key
  FROM plain AS p
  WHERE end_ns >= start_ns
    AND start_ns >= -2305843009213693952
    AND end_ns <= 2305843009213693952
)
SELECT is_kernel, start_ns, end_ns, device_id, process_key, device_key
FROM placed
WHERE NOT is_peer
  OR device_key IN (SELECT device_key FROM placed WHERE NOT is_peer)
