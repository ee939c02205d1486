-- NVLink counters: how many samples each has.
-- @role check
-- @table rows
-- @col metric_names  the counter
-- @col samples       samples in the whole trace
SELECT
  metric_name AS metric_names
, count(*) AS samples
FROM _gpu_metric
WHERE (
    metric_name LIKE '%nvlink%'
    OR metric_name LIKE '%nvlrx%'
    OR metric_name LIKE '%nvltx%')
  AND type_id IN (
    SELECT type_id FROM _gpu_metric
    GROUP BY type_id HAVING min(timestamp_ns) < max(timestamp_ns))
GROUP BY type_id, metric_id
ORDER BY metric_name
