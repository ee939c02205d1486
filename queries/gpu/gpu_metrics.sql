-- Sampled GPU counters in the window. A sample at t stands for [t, t + period), where the
-- period is that of its source (type_id). A source with samples at one instant only has no
-- period and is left out.
-- @role check
-- @table counters
-- @col metric_id    id of the counter in its source
-- @col metric_name  name of the counter
-- @col samples      samples that touch the window
-- @col max          maximum of these samples
WITH
step AS (
  SELECT type_id, lead(timestamp_ns) OVER (
      PARTITION BY type_id ORDER BY timestamp_ns) - timestamp_ns AS ns
  FROM (SELECT DISTINCT type_id, timestamp_ns FROM _gpu_metric)
),
ranked AS (
  SELECT
    type_id
  , ns
  , row_number() OVER (PARTITION BY type_id ORDER BY ns) AS nth
  , count(*) OVER (PARTITION BY type_id) AS n
  FROM step
  WHERE ns IS NOT NULL
),
-- The median step between samples, and the nearest period and frequency of two significant digits.
middle AS (
  SELECT
    type_id
  , round(avg(ns)) AS ns
  , CAST(printf('%.1e', round(avg(ns))) AS REAL) AS by_period
  , 1e15 / CAST(printf('%.1e', 1e15 / round(avg(ns))) AS REAL) AS by_frequency
  FROM ranked
  WHERE nth IN ((n + 1) / 2, (n + 2) / 2)
  GROUP BY type_id
),
best AS (
  SELECT type_id, ns
  , CASE WHEN abs(by_period - ns) <= abs(by_frequency - ns) THEN by_period
      ELSE by_frequency END AS near
  FROM middle
),
period AS (
  SELECT type_id, CASE WHEN abs(near - ns) <= 0.003 * ns THEN round(near)
      ELSE ns END AS ns
  FROM best
),
span(from_ns, to_ns) AS (SELECT min(start_ns), max(end_ns) FROM _gpu_work)
SELECT
  m.metric_id
, m.metric_name
, count(CASE WHEN m.timestamp_ns + p.ns > from_ns AND m.timestamp_ns < to_ns
    THEN 1 END) AS samples
, max(CASE WHEN m.timestamp_ns + p.ns > from_ns AND m.timestamp_ns < to_ns
    THEN round(m.value) END) AS max
FROM _gpu_metric AS m
JOIN period AS p ON p.type_id = m.type_id
CROSS JOIN span
GROUP BY m.type_id, m.metric_id
ORDER BY m.type_id, m.metric_id
