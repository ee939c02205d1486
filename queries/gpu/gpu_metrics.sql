-- Sampled counters, each of its source; a source with one instant has no period
-- and is left out.
-- @role check
-- @table counters
-- @col metric_id    the counter, inside its source
-- @col metric_name  its name
-- @col samples      in the whole trace
-- @col max          the greatest of them
SELECT
  metric_id
, metric_name
, count(*) AS samples
, max(round(value)) AS max
FROM _gpu_metric
WHERE type_id IN (
  SELECT type_id FROM _gpu_metric
  GROUP BY type_id HAVING min(timestamp_ns) < max(timestamp_ns))
GROUP BY type_id, metric_id
ORDER BY type_id, metric_id
