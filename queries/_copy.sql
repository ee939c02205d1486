-- Copies that are well formed, with labels for the numbers of their kinds.
SELECT
  m.rid
, m.start_ns
, m.end_ns
, COALESCE(m.device_id, 0) AS device_id
, COALESCE(m.copy_kind, 0) AS kind
, CASE COALESCE(m.copy_kind, 0)
    WHEN 0 THEN 'Unknown' WHEN 1 THEN 'HtoD' WHEN 2 THEN 'DtoH'
    WHEN 3 THEN 'HtoA' WHEN 4 THEN 'AtoH' WHEN 5 THEN 'AtoA'
    WHEN 6 THEN 'AtoD' WHEN 7 THEN 'DtoA' WHEN 8 THEN 'DtoD'
    WHEN 9 THEN 'HtoH' WHEN 10 THEN 'PtoP' WHEN 11 THEN 'UVM HtoD'
    WHEN 12 THEN 'UVM DtoH' WHEN 13 THEN 'UVM DtoD'
    ELSE 'Unknown'
  END AS direction
, COALESCE(m.src_kind, 7) AS src
, COALESCE(m.dst_kind, 7) AS dst
, m.bytes
FROM memcpy AS m
WHERE typeof(m.start_ns) = 'integer'
  AND typeof(m.end_ns) = 'integer'
  AND m.end_ns >= m.start_ns
