-- NVTX ranges by process and name, with the process's coverage.
-- @role check
-- @table ranges
-- @col pid                           process
-- @col range_name                    normalised name
-- @col nvtx_count                    ranges
-- @col pid_attribution_coverage_pct  share of the process's kernel time that was launched in
--                                    any range
WITH
named AS (
  SELECT process_key, pid, label AS range_name, count(*) AS nvtx_count
  FROM _range
  GROUP BY process_key, pid, label
),
covered AS (
  SELECT
    process_key
  , 100.0 * sum(CASE WHEN range_rid THEN ns ELSE 0 END) / sum(ns) AS pct
  FROM _kernel_range
  GROUP BY process_key
)
SELECT
  n.pid
, n.range_name
, n.nvtx_count
, c.pct AS pid_attribution_coverage_pct
FROM named AS n
LEFT JOIN covered AS c ON c.process_key = n.process_key
ORDER BY n.pid, n.nvtx_count DESC, n.range_name
