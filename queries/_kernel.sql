-- Kernels that are well formed, with their names as text.
SELECT
  k.rid
, k.start_ns
, k.end_ns
, COALESCE(k.device_id, 0) AS device_id
, CASE
    WHEN k.global_pid IS NOT NULL THEN k.global_pid & ~0xFFFFFF
    WHEN k.pid IS NOT NULL THEN k.pid << 24
    ELSE 0
  END AS process_key
, COALESCE(k.corr, 0) AS corr
, k.context_id
, k.stream_id
, CASE typeof(COALESCE(k.name, k.short_name))
    WHEN 'text' THEN COALESCE(k.name, k.short_name)
    WHEN 'null' THEN '(unnamed)'
    ELSE COALESCE(s.value, 'id:' || COALESCE(k.name, k.short_name))
  END AS kernel_name
FROM kernel AS k
LEFT JOIN string AS s ON s.id = COALESCE(k.name, k.short_name)
WHERE typeof(k.start_ns) = 'integer'
  AND typeof(k.end_ns) = 'integer'
  AND k.end_ns >= k.start_ns
