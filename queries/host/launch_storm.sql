-- The rate and the median duration of kernels, and whether they are a launch storm, in one row.
-- @role check
-- @col total_launches    kernels
-- @col window_s          from the first start to the last end of any kernel
-- @col launches_per_s    total_launches over window_s
-- @col median_kernel_us  median duration, linear interpolation
-- @col pct_under_5us     share of kernels shorter than 5 us
-- @col pct_under_10us    share of kernels shorter than 10 us
-- @col pct_under_20us    share of kernels shorter than 20 us
-- @col is_launch_storm   50 000 a second with a median of at most 10 us, or 100 000 with 20 us
WITH
ranked AS (
  SELECT
    end_ns - start_ns AS ns
  , row_number() OVER (ORDER BY end_ns - start_ns) - 1 AS at
  , count(*) OVER () - 1 AS last
  , lead(end_ns - start_ns, 1, end_ns - start_ns)
      OVER (ORDER BY end_ns - start_ns) AS next_ns
  FROM _kernel
),
figure AS (
  SELECT
    (SELECT count(*) FROM _kernel) AS n
  , (SELECT (max(end_ns) - min(start_ns)) / 1e9 FROM _kernel) AS window_s
  , (SELECT (ns + (last * 0.5 - at) * (next_ns - ns)) / 1e3
     FROM ranked WHERE at = last / 2) AS median_us
  , (SELECT 100.0 * sum(ns < 5000) / count(*) FROM ranked) AS under_5
  , (SELECT 100.0 * sum(ns < 10000) / count(*) FROM ranked) AS under_10
  , (SELECT 100.0 * sum(ns < 20000) / count(*) FROM ranked) AS under_20
)
SELECT
  n AS total_launches
, window_s
, n / window_s AS launches_per_s
, median_us AS median_kernel_us
, under_5 AS pct_under_5us
, under_10 AS pct_under_10us
, under_20 AS pct_under_20us
, (n / window_s >= 50000 AND median_us <= 10)
    OR (n / window_s >= 100000 AND median_us <= 20) AS is_launch_storm
FROM figure
