-- API calls in which the host waits, with the class of the wait. Only the outermost of nested
-- calls is listed.
WITH
classed AS (
  SELECT
    c.*
  , CASE
      WHEN c.rid IN (SELECT rid FROM _sync_call) THEN 'sync_api'
      WHEN c.api_base GLOB 'cu*' AND c.word GLOB 'Memcpy*'
        AND (
          c.word NOT GLOB '*Async*'
          -- An asynchronous copy blocks if its GPU copy runs during the call: any part of
          -- it with pageable memory (kind 0), otherwise at least half of it.
          OR c.rid IN (
            SELECT h.rid
            FROM _host_call AS h
            JOIN _copy AS m ON m.process_key = h.process_key AND m.corr = h.corr
              AND m.start_ns >= h.since_ns AND m.start_ns < h.until_ns
            WHERE min(h.end_ns, m.end_ns) > max(h.start_ns, m.start_ns)
              AND (
                m.src = 0 OR m.dst = 0
                OR 2 * (min(h.end_ns, m.end_ns) - max(h.start_ns, m.start_ns))
                  >= m.end_ns - m.start_ns
              )
          )
        )
        THEN 'blocking_memcpy'
      WHEN c.word IN (
          'Free', 'MemFree', 'FreeHost', 'MemFreeHost', 'HostAlloc',
          'MemHostAlloc', 'MallocHost', 'MemAllocHost', 'FreeArray')
        OR c.word GLOB 'ModuleLoad*' OR c.word GLOB 'LibraryLoad*'
        THEN 'implicit_sync'
      WHEN c.word IN (
          'Malloc', 'MemAlloc', 'MallocPitch', 'MemAllocPitch', 'Malloc3D',
          'MallocArray')
        AND c.end_ns - c.start_ns >= 100000
        THEN 'implicit_sync'
    END AS barrier_kind
  FROM (
    SELECT *
    , CASE
        WHEN api_base GLOB 'cuda*' THEN substr(api_base, 5)
        WHEN api_base GLOB 'cu*' THEN substr(api_base, 3)
        ELSE ''
      END AS word
    FROM _call
  ) AS c
)
SELECT rid, start_ns, end_ns, thread_key, process_key, api_name, barrier_kind
FROM (
  SELECT
    *
  , max(end_ns) OVER (
      PARTITION BY thread_key ORDER BY start_ns, end_ns DESC, rid
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS open_until
  FROM classed
  WHERE barrier_kind IS NOT NULL
)
WHERE open_until IS NULL OR open_until < end_ns
