-- Busy and idle time of each GPU in the window from the first to the last work of any GPU.
-- @role check
-- @table devices
-- @col device_id           CUDA ordinal
-- @col window_ms           from the first start to the last end of any GPU work
-- @col busy_ms             union of all work of the device
-- @col idle_ms             window_ms less busy_ms
-- @col idle_pct_of_window  idle_ms as a share of window_ms
-- @col edge_idle_ms        part of idle_ms before the first and after the last work
-- @col kernel_busy_ms      union of kernels and graph replays
-- @col kernel_idle_ms      window_ms less kernel_busy_ms
-- @col kernel_idle_pct_of_window  kernel_idle_ms as a share of window_ms
WITH
span(from_ns, to_ns) AS (SELECT min(start_ns), max(end_ns) FROM _gpu_work),
-- added_ns is the part of each operation after the end of all that began before it. The sum
-- of added_ns is the union.
work AS (
  SELECT
    device_key
  , device_id
  , start_ns
  , end_ns
  , max(0, end_ns - max(start_ns, COALESCE(max(end_ns) OVER (
      PARTITION BY device_key ORDER BY start_ns, end_ns
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), start_ns))) AS added_ns
  FROM _gpu_work
),
kernels AS (
  SELECT
    device_key
  , max(0, end_ns - max(start_ns, COALESCE(max(end_ns) OVER (
      PARTITION BY device_key ORDER BY start_ns, end_ns
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), start_ns))) AS added_ns
  FROM _gpu_work
  WHERE is_kernel
),
device AS (
  SELECT
    min(device_id) AS device_id
  , sum(added_ns) AS busy_ns
  , min(CASE WHEN end_ns > start_ns THEN start_ns END) AS first_ns
  , max(CASE WHEN end_ns > start_ns THEN end_ns END) AS last_ns
  , COALESCE((
      SELECT sum(added_ns) FROM kernels AS k
      WHERE k.device_key = w.device_key), 0) AS kernel_ns
  FROM work AS w
  GROUP BY device_key
)
SELECT
  device_id
, (to_ns - from_ns) / 1e6 AS window_ms
, busy_ns / 1e6 AS busy_ms
, (to_ns - from_ns - busy_ns) / 1e6 AS idle_ms
, 100.0 * (to_ns - from_ns - busy_ns) / (to_ns - from_ns)
    AS idle_pct_of_window
, COALESCE(first_ns - from_ns + to_ns - last_ns, to_ns - from_ns) / 1e6
    AS edge_idle_ms
, kernel_ns / 1e6 AS kernel_busy_ms
, (to_ns - from_ns - kernel_ns) / 1e6 AS kernel_idle_ms
, 100.0 * (to_ns - from_ns - kernel_ns) / (to_ns - from_ns)
    AS kernel_idle_pct_of_window
FROM device, span
ORDER BY device_id
