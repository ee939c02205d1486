-- Well-formed API calls, with their names as text. api_base is the name without the
-- suffixes "_v1234", "_ptsz" and "_ptds". Rows of event class 67 are left out: they repeat
-- a call to carry its backtrace.
WITH sound AS (
  SELECT
    rid
  , start_ns
  , end_ns
  , CASE
      WHEN typeof(global_tid) = 'integer' THEN global_tid
      WHEN typeof(pid) = 'integer' THEN pid << 24
        | CASE typeof(tid) WHEN 'integer' THEN tid & 0xFFFFFF ELSE 0 END
      WHEN typeof(tid) = 'integer' THEN tid & 0xFFFFFF
      ELSE 0
    END AS thread_key
  , CASE typeof(corr) WHEN 'integer' THEN corr ELSE 0 END AS corr
  , CASE typeof(return_value) WHEN 'integer' THEN return_value ELSE 0 END
      AS return_value
  , name
  FROM runtime
  WHERE typeof(start_ns) = 'integer'
    AND typeof(end_ns) = 'integer'
    AND end_ns >= start_ns
    AND start_ns >= -2305843009213693952
    AND end_ns <= 2305843009213693952
    AND event_class IS NOT 67
)
, named AS (
  SELECT
    c.*
  , CASE typeof(c.name)
      WHEN 'text' THEN c.name
      WHEN 'integer' THEN COALESCE(s.text, 'id:' || c.name)
      ELSE ''
    END AS api_name
  FROM sound AS c
  LEFT JOIN _string AS s ON s.id = c.name
)
, unsuffixed AS (
  SELECT *, replace(replace(api_name, '_ptsz', ''), '_ptds', '') AS bare
  FROM named
)
SELECT
  rid
, start_ns
, end_ns
, thread_key
, thread_key & ~0xFFFFFF AS process_key
, thread_key >> 24 & 0xFFFFFF AS pid
, corr
, return_value
, api_name
, CASE
    WHEN bare GLOB '*_v[0-9]*' AND rtrim(bare, '0123456789') GLOB '*_v'
      THEN substr(bare, 1, length(rtrim(bare, '0123456789')) - 2)
    ELSE bare
  END AS api_base
FROM unsuffixed
