-- Queue delay, from the start of the launch call to the start of the kernel, as a histogram
-- with bounds at 1, 2, 5, 10, ... us. A graph launch counts with its first kernel only.
-- @role check
-- @table histogram
-- @col bin_start_us  least delay of the bin; NULL: no lower bound
-- @col bin_end_us    the delay is less than this; NULL: no upper bound
-- @col count         kernels with such a delay
WITH RECURSIVE
launched AS (
  SELECT
    k.start_ns - c.start_ns AS ns
  , row_number() OVER (
      PARTITION BY CASE
        WHEN c.api_base GLOB 'cuGraphLaunch*'
          OR c.api_base GLOB 'cudaGraphLaunch*' THEN -c.rid
        ELSE k.rid
      END
      ORDER BY k.start_ns) AS nth
  FROM _kernel AS k
  JOIN _host_call AS c ON c.process_key = k.process_key AND c.corr = k.corr
    AND k.start_ns >= c.since_ns AND k.start_ns < c.until_ns
),
decade(us) AS (
  VALUES (1) UNION ALL SELECT 10 * us FROM decade WHERE us < 10000000
),
bound(us) AS (
  SELECT 0
  UNION ALL
  SELECT us * column1 FROM decade, (VALUES (1), (2), (5))
  WHERE us * column1 <= 10000000
),
bin(first_us, end_us) AS (
  SELECT NULL, 0
  UNION ALL
  SELECT us, lead(us) OVER (ORDER BY us) FROM bound
),
counted AS (
  SELECT
    b.first_us
  , b.end_us
  , count(l.ns) AS n
  FROM bin AS b
  LEFT JOIN launched AS l
    ON l.nth = 1
    AND (b.first_us IS NULL OR l.ns >= b.first_us * 1000)
    AND (b.end_us IS NULL OR l.ns < b.end_us * 1000)
  GROUP BY b.first_us, b.end_us
)
-- Empty bins before the first and after the last bin with a kernel are left out.
SELECT first_us AS bin_start_us, end_us AS bin_end_us, n AS count
FROM counted
WHERE COALESCE(first_us, -1) BETWEEN
  (SELECT min(COALESCE(first_us, -1)) FROM counted WHERE n > 0)
  AND (SELECT max(COALESCE(first_us, -1)) FROM counted WHERE n > 0)
ORDER BY first_us
