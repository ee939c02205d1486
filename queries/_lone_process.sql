-- The process of kernels in exports that do not say: the one that made API
-- calls, where there is just one; else 0. One row.
SELECT CASE
    WHEN EXISTS (
        SELECT 1 FROM kernel WHERE global_pid IS NOT NULL OR pid IS NOT NULL)
      THEN 0
    WHEN count(DISTINCT process_key) = 1 THEN min(process_key)
    ELSE 0
  END AS process_key
FROM _call
WHERE process_key <> 0
