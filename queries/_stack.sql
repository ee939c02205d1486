-- Each recorded stack with its innermost frame and its site. The site is the innermost frame
-- of the program's own code or, without one, of a library (origin 0 or 1 in _frame).
WITH ranked AS (
  SELECT
    *
  , row_number() OVER (
      PARTITION BY kind, id ORDER BY depth, function, module, origin) AS leaf
  , CASE
      WHEN origin <= 1 AND (function IS NOT NULL OR module IS NOT NULL)
      THEN row_number() OVER (
        PARTITION BY kind, id
        ORDER BY origin > 1 OR (function IS NULL AND module IS NULL)
        , origin, depth, function, module)
    END AS site
  FROM _frame
)
SELECT
  kind
, id
, max(CASE leaf WHEN 1 THEN function END) AS function
, max(CASE leaf WHEN 1 THEN module END) AS module
, max(CASE leaf WHEN 1 THEN origin END) AS origin
, max(site = 1) AS has_site
, max(CASE site WHEN 1 THEN function END) AS called_from
, max(CASE site WHEN 1 THEN module END) AS called_from_module
FROM ranked
GROUP BY kind, id
