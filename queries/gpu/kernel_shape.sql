-- One row for each launch configuration: executions, theoretical occupancy and waves.
-- @role check
-- @table shapes
-- @col kernel_name            full name
-- @col device_id              CUDA ordinal
-- @col grid                   blocks
-- @col block                  threads of a block
-- @col registers              registers of a thread
-- @col static_shared_bytes    static shared memory of a block
-- @col dynamic_shared_bytes   dynamic shared memory of a block
-- @col call_count             executions
-- @col total_ms               sum of durations
-- @col pct_total_kernel_time  share of all kernel time
-- @col grid_blocks            blocks of the grid
-- @col resident_blocks        blocks that fit on a multiprocessor
-- @col resident_warps         warps of the resident blocks
-- @col occupancy_pct          resident warps as a share of those that a multiprocessor can hold
-- @col waves                  blocks of the grid over the blocks that the GPU holds at a time
WITH
launch AS (
  SELECT
    k.kernel_name
  , k.device_id
  , k.gpu
  , k.pid
  , k.end_ns - k.start_ns AS ns
  , CASE WHEN r.green_context_id > 0 THEN
      (SELECT max(c.sm_count) FROM cuda_context AS c
       WHERE c.process_id = k.pid AND c.context_id = r.green_context_id) END
      AS green_sm
  , typeof(r.grid_x) = 'integer' AND typeof(r.block_x) = 'integer' AS known
  , CASE WHEN r.grid_x BETWEEN 0 AND 4294967294
          AND typeof(r.grid_x) = 'integer' THEN r.grid_x ELSE 0 END AS gx
  , CASE WHEN r.grid_y BETWEEN 0 AND 4294967294
          AND typeof(r.grid_y) = 'integer' THEN r.grid_y ELSE 0 END AS gy
  , CASE WHEN r.grid_z BETWEEN 0 AND 4294967294
          AND typeof(r.grid_z) = 'integer' THEN r.grid_z ELSE 0 END AS gz
  , CASE WHEN r.block_x BETWEEN 0 AND 4294967294
          AND typeof(r.block_x) = 'integer' THEN r.block_x ELSE 0 END AS bx
  , CASE WHEN r.block_y BETWEEN 0 AND 4294967294
          AND typeof(r.block_y) = 'integer' THEN r.block_y ELSE 0 END AS by
  , CASE WHEN r.block_z BETWEEN 0 AND 4294967294
          AND typeof(r.block_z) = 'integer' THEN r.block_z ELSE 0 END AS bz
  , CASE WHEN r.registers BETWEEN 0 AND 4294967294
          AND typeof(r.registers) = 'integer' THEN r.registers END AS reg
  , CASE WHEN r.static_shared_bytes BETWEEN 0 AND 4294967294
          AND typeof(r.static_shared_bytes) = 'integer'
      THEN r.static_shared_bytes END AS ss
  , CASE WHEN r.dynamic_shared_bytes BETWEEN 0 AND 4294967294
          AND typeof(r.dynamic_shared_bytes) = 'integer'
      THEN r.dynamic_shared_bytes END AS ds
  FROM _kernel AS k
  JOIN kernel AS r ON r.rid = k.rid
),
shape AS (
  SELECT
    *
  , min(pid) AS a_pid
  , count(*) AS n
  , sum(ns) AS total_ns
  -- the multiprocessors of its green contexts, if it ran in no other context
  , max(COALESCE(nullif(green_sm, 0), 4294967295)) AS most_sm
  FROM launch
  GROUP BY kernel_name, device_id, gpu, known, gx, gy, gz, bx, by, bz, reg, ss
  , ds
),
-- The GPU of a device ordinal: by the process's own mapping (uuid, then id); without one, the
-- GPU that the profiler lists with that ordinal.
placed AS (
  SELECT
    s.*
  , COALESCE(
      (SELECT min(g.rid) FROM gpu AS g WHERE g.uuid = s.gpu)
    , (SELECT g.rid FROM cuda_device AS d
       JOIN gpu AS g ON g.id = d.gpu_id
       WHERE d.pid = s.a_pid AND d.cuda_id = s.device_id
       ORDER BY d.rid DESC LIMIT 1)
    , (SELECT g.rid FROM gpu AS g
       WHERE COALESCE(g.cuda_device, g.id) = s.device_id
         AND g.sm_count IS NOT 0
       ORDER BY g.id LIMIT 1)
    ) AS gpu_rid
  , (SELECT d.sm_count FROM cuda_device AS d -- a MIG slice has fewer than its GPU
     WHERE d.pid = s.a_pid AND d.cuda_id = s.device_id AND d.sm_count > 0
     ORDER BY d.rid DESC LIMIT 1) AS slice_sm
  , gx * max(gy, 1) * max(gz, 1) AS grid_blocks
  , bx * max(by, 1) * max(bz, 1) AS threads
  FROM shape AS s
),
-- The warps of a block, and the registers of a warp and shared memory of a block rounded up
-- as the hardware allocates them. parts is the number of parts of the register file.
sized AS (
  SELECT
    p.*
  , min(g.sm_count, COALESCE(p.slice_sm, g.sm_count), p.most_sm) AS sm_count
  , g.max_warps_per_sm AS sm_warps
  , g.max_blocks_per_sm AS sm_blocks
  , g.max_registers_per_sm AS sm_registers
  , g.max_shared_per_sm AS sm_shared
  , COALESCE(nullif(g.max_registers_per_block, 0), g.max_registers_per_sm)
      AS block_registers
  , (p.threads + 31) / 32 AS warps
  , (p.reg * 32 + 255) / 256 * 256 AS warp_registers
  , CASE WHEN g.compute_major >= 8
      THEN (p.ss + p.ds + 1024 + 127) / 128 * 128
      ELSE (p.ss + p.ds + 255) / 256 * 256
    END AS block_shared
  , CASE WHEN g.compute_major = 6 AND g.compute_minor = 0 THEN 2 ELSE 4 END
      AS parts
  FROM placed AS p
  LEFT JOIN gpu AS g
    ON g.rid = p.gpu_rid AND g.sm_count > 0 AND g.compute_major >= 3
),
fit AS (
  SELECT
    *
  , CASE WHEN known AND threads > 0 THEN min(
      sm_warps / warps
    , sm_blocks
    , CASE
        WHEN warp_registers = 0 THEN sm_blocks
        WHEN warp_registers * ((warps + parts - 1) / parts * parts)
          > block_registers THEN 0
        ELSE sm_registers / parts / warp_registers * parts / warps
      END
    , CASE block_shared WHEN 0 THEN sm_blocks
        ELSE sm_shared / block_shared END
    ) END AS resident
  FROM sized
)
SELECT
  kernel_name
, device_id
, CASE WHEN known THEN gx || 'x' || gy || 'x' || gz END AS grid
, CASE WHEN known THEN bx || 'x' || by || 'x' || bz END AS block
, CASE WHEN known THEN reg END AS registers
, CASE WHEN known THEN ss END AS static_shared_bytes
, CASE WHEN known THEN ds END AS dynamic_shared_bytes
, n AS call_count
, total_ns / 1e6 AS total_ms
, 100.0 * total_ns / nullif((SELECT sum(total_ns) FROM shape), 0)
    AS pct_total_kernel_time
, CASE WHEN known THEN grid_blocks END AS grid_blocks
, resident AS resident_blocks
, resident * warps AS resident_warps
, 100.0 * resident * warps / sm_warps AS occupancy_pct
, CAST(grid_blocks AS REAL) / nullif(resident * sm_count, 0) AS waves
FROM fit
ORDER BY total_ms DESC, call_count DESC, kernel_name, device_id, grid, block
