-- Samples of GPU counters with valid values, each with the counter's name. A share is at most 100.
WITH named AS (
  SELECT
    m.rid
  , m.timestamp_ns
  , m.type_id
  , m.metric_id
  , m.value
  , NULLIF((
      SELECT min(i.metric_name) FROM gpu_metric_info AS i
      WHERE i.type_id = m.type_id AND i.metric_id = m.metric_id), '')
    AS metric_name
  FROM gpu_metric AS m
  WHERE typeof(m.timestamp_ns) = 'integer'
    AND abs(m.timestamp_ns) <= 2305843009213693952
    AND typeof(m.type_id) = 'integer'
    AND typeof(m.metric_id) = 'integer'
    AND typeof(m.value) IN ('integer', 'real')
    AND m.value BETWEEN 0 AND 1099511627776
)
SELECT rid, timestamp_ns, type_id, metric_id, value, metric_name
FROM named
WHERE round(value) <= 100 OR instr(coalesce(metric_name, ''), '%]') = 0
