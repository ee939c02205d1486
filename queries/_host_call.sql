-- The host call of each correlation id in a process: the outermost call with that id. A
-- program may reuse an id, so the call owns only the GPU work with this id that starts at
-- since_ns or later and before until_ns.
SELECT rid, start_ns, end_ns, thread_key, process_key, corr, api_name, api_base
, CASE WHEN lag(rid) OVER again IS NULL THEN -9223372036854775808 ELSE start_ns END
    AS since_ns
, COALESCE(lead(start_ns) OVER again, 9223372036854775807) AS until_ns
FROM (
  SELECT
    *
  , max(end_ns) OVER (
      PARTITION BY process_key, corr ORDER BY start_ns, end_ns DESC, rid
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS before_ns
  FROM _call
  WHERE corr BETWEEN 1 AND 4294967294
)
WHERE before_ns IS NULL OR start_ns >= before_ns
WINDOW again AS (PARTITION BY process_key, corr ORDER BY start_ns)
