-- For each correlation id of a process the outermost call that carries it.
SELECT rid, start_ns, end_ns, thread_key, process_key, corr, api_name, api_base
FROM (
  SELECT
    *
  , row_number() OVER (
      PARTITION BY process_key, corr ORDER BY start_ns, end_ns DESC, rid
    ) AS nth
  FROM _call
  WHERE corr BETWEEN 1 AND 4294967294
)
WHERE nth = 1
