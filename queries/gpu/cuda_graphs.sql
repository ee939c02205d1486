-- CUDA graphs: recorded replays by (process, device, graph), and for each process the graph
-- launches of which no work was recorded.
-- @role check
-- @table rows
-- @col pid            process
-- @col device_id      CUDA ordinal; NULL: no replay was recorded
-- @col graph_id       the graph
-- @col graph_exec_id  executable instance of the graph; NULL in node mode
-- @col mode           graph: replays recorded whole; node: node by node; opaque: not at all
-- @col launches       launch calls
-- @col replays        replays that were recorded
-- @col coverage_pct   share of launches whose replay was recorded
-- @col total_ms       sum of replays
-- @col avg_us         total over replays
WITH
graph_call AS ( -- reports do not say which operations are nodes; what these calls started is
  SELECT process_key, corr
  FROM _host_call
  WHERE api_name GLOB 'cudaGraphLaunch*' OR api_name GLOB 'cuGraphLaunch*'
),
work(process_key, device_id, graph_id, exec_id, corr, is_node, start_ns, end_ns)
AS (
  SELECT global_pid & ~0xFFFFFF, device_id, graph_id, graph_exec_id, corr, 0
  , start_ns, end_ns
  FROM graph
  UNION ALL
  SELECT global_pid & ~0xFFFFFF, device_id, graph_id, NULL, corr, 1
  , start_ns, end_ns
  FROM kernel
  WHERE graph_node_id <> 0 OR (global_pid & ~0xFFFFFF, corr) IN graph_call
  UNION ALL
  SELECT global_pid & ~0xFFFFFF, device_id, NULL, NULL, corr, 1
  , start_ns, end_ns
  FROM memcpy
  WHERE graph_node_id <> 0 OR (global_pid & ~0xFFFFFF, corr) IN graph_call
  UNION ALL
  SELECT global_pid & ~0xFFFFFF, device_id, NULL, NULL, corr, 1
  , start_ns, end_ns
  FROM memset
  WHERE graph_node_id <> 0 OR (global_pid & ~0xFFFFFF, corr) IN graph_call
),
called AS (
  SELECT w.*, c.rid AS call_rid
  FROM work AS w
  LEFT JOIN _host_call AS c
    ON c.process_key = w.process_key AND c.corr = w.corr
    AND w.start_ns >= c.since_ns AND w.start_ns < c.until_ns
  WHERE w.end_ns >= w.start_ns
),
replay AS (
  SELECT process_key, device_id, graph_id, exec_id, 0 AS is_node, call_rid
  , end_ns - start_ns AS ns
  FROM called
  WHERE NOT is_node
  UNION ALL
  SELECT process_key, device_id, min(graph_id), NULL, 1, call_rid
  , max(end_ns) - min(start_ns)
  FROM called
  WHERE is_node AND call_rid IS NOT NULL
  GROUP BY process_key, device_id, call_rid
),
launch AS ( -- a call inside another call is the same launch
  SELECT rid, process_key, pid, start_ns, end_ns
  FROM (
    SELECT
      *
    , max(end_ns) OVER (
        PARTITION BY thread_key ORDER BY start_ns, end_ns DESC, rid
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ) AS open_until
    FROM _call
  )
  WHERE (api_name GLOB 'cudaGraphLaunch*' OR api_name GLOB 'cuGraphLaunch*')
    AND return_value IN (0, 600)
    AND (open_until IS NULL OR open_until < end_ns)
)
SELECT
  process_key >> 24 & 0xFFFFFF AS pid
, device_id
, graph_id
, exec_id AS graph_exec_id
, CASE is_node WHEN 1 THEN 'node' ELSE 'graph' END AS mode
, count(DISTINCT call_rid) AS launches
, count(*) AS replays
, CASE WHEN count(call_rid) THEN 100.0 END AS coverage_pct
, sum(ns) / 1e6 AS total_ms
, sum(ns) / 1e3 / count(*) AS avg_us
FROM replay
GROUP BY process_key, device_id, graph_id, exec_id, is_node
UNION ALL
SELECT pid, NULL, NULL, NULL, 'opaque', count(*), 0, 0.0, NULL, NULL
FROM launch
WHERE rid NOT IN (SELECT call_rid FROM called WHERE call_rid IS NOT NULL)
GROUP BY process_key
ORDER BY total_ms DESC, launches DESC, pid, device_id, graph_id, graph_exec_id
