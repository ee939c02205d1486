-- The process of GPU work whose row does not name one: the process that made the API calls
-- if there is exactly one, otherwise 0. It is also 0 if any kernel names its process. The
-- result is one row.
SELECT CASE
    WHEN EXISTS (
        SELECT 1 FROM kernel WHERE global_pid IS NOT NULL OR pid IS NOT NULL)
      THEN 0
    WHEN count(DISTINCT process_key) = 1 THEN min(process_key)
    ELSE 0
  END AS process_key
FROM _call
WHERE process_key <> 0
