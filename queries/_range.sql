-- Well-formed NVTX ranges. kind is 'stack' (push/pop) or 'async' (start/end). A range that
-- was never closed ends with the trace. range_name leaves out what PyTorch writes anew for
-- each instance: ", seq = 5", ", op_id = 7", and everything from ", sizes = [" or
-- ", input_op_ids = [" on. is_library is true in the domains of NCCL, cuBLAS and similar
-- libraries. label is the name in tables: names that differ only in numbers share one, with
-- "#" for each number. A name in several domains has that of its domain before it. C takes push/pop ranges that cross as 'async'; this view does not.
WITH sound AS (
  SELECT
    rid
  , start_ns
  , end_ns
  , COALESCE(event_type, 59) AS event_type
  , CASE
      WHEN typeof(global_tid) = 'integer' THEN global_tid
      WHEN typeof(pid) = 'integer' THEN pid << 24
        | CASE typeof(tid) WHEN 'integer' THEN tid & 0xFFFFFF ELSE 0 END
      WHEN typeof(tid) = 'integer' THEN tid & 0xFFFFFF
      ELSE 0
    END AS thread_key
  , CASE typeof(domain_id) WHEN 'integer' THEN domain_id ELSE 0 END
      AS domain_id
  , CASE typeof(text)
      WHEN 'text' THEN text
      ELSE COALESCE(
        (SELECT s.text FROM _string AS s WHERE s.id = text_id)
      , CASE typeof(text_id) WHEN 'integer' THEN 'id:' || text_id END
      , '(unnamed)')
    END AS raw_name
  FROM nvtx
  WHERE typeof(start_ns) = 'integer'
    AND start_ns BETWEEN -2305843009213693952 AND 2305843009213693952
    AND (end_ns IS NULL OR typeof(end_ns) = 'integer'
      AND end_ns BETWEEN start_ns AND 2305843009213693952)
    AND COALESCE(event_type, 59) IN (34, 59, 60, 65, 70, 71, 75)
),
domain AS (
  SELECT
    thread_key & ~0xFFFFFF AS process_key
  , domain_id
  , max(CASE event_type WHEN 75 THEN raw_name END) AS domain_name
  , min(event_type = 75 OR raw_name GLOB 'nccl*') AS is_all_nccl
  FROM sound
  GROUP BY thread_key & ~0xFFFFFF, domain_id
),
no_op AS ( -- names without the first ", op_id = N"
  SELECT
    *
  , CASE instr(raw_name, ', op_id = ')
      WHEN 0 THEN raw_name
      ELSE substr(raw_name, 1, instr(raw_name, ', op_id = ') - 1)
        || ltrim(substr(raw_name, instr(raw_name, ', op_id = ') + 10)
          , '-0123456789')
    END AS no_op
  FROM sound
  WHERE event_type IN (59, 60, 70, 71)
),
no_number AS ( -- names also without the first ", seq = N"
  SELECT
    *
  , CASE instr(no_op, ', seq = ')
      WHEN 0 THEN no_op
      ELSE substr(no_op, 1, instr(no_op, ', seq = ') - 1)
        || ltrim(substr(no_op, instr(no_op, ', seq = ') + 8), '-0123456789')
    END AS name
  FROM no_op
),
cut AS ( -- at: where the first list begins in the name; 1e9: there is no list
  SELECT
    *
  , min(
      COALESCE(NULLIF(instr(name, ', sizes = ['), 0), 1e9)
    , COALESCE(NULLIF(instr(name, ', input_op_ids = ['), 0), 1e9)
    ) AS at
  FROM no_number
),
plain AS (
  SELECT
    *
  , CASE WHEN at < 1e9 THEN substr(name, 1, at - 1) ELSE name END AS plain_name
  FROM cut
),
of_domain AS (
  SELECT
    r.*
  , CASE WHEN r.domain_id <> 0
    THEN COALESCE(NULLIF(d.domain_name, ''), 'domain ' || r.domain_id) ELSE '' END AS owner
  , COALESCE(d.domain_name IN ('NCCL', 'cuBLAS', 'cuDNN', 'CUBLAS', 'CUDNN',
        'cuSOLVER', 'cuSPARSE', 'cuFFT', 'NVSHMEM')
    , r.domain_id <> 0 AND d.is_all_nccl) AS is_library
  FROM plain AS r
  LEFT JOIN domain AS d
    ON d.process_key = r.thread_key & ~0xFFFFFF AND d.domain_id = r.domain_id
),
told AS (
  SELECT
    r.*
  , CASE WHEN p.plain_name IS NOT NULL AND r.domain_id <> 0 AND NOT r.is_library
    THEN r.owner || ':' || r.plain_name ELSE r.plain_name END AS range_name
  FROM of_domain AS r
  LEFT JOIN (
    SELECT plain_name FROM of_domain GROUP BY plain_name HAVING min(owner) <> max(owner)
  ) AS p ON p.plain_name = r.plain_name
),
-- Walks through each name word by word. mask is the part before the current word, with
-- hexadecimal words as "#"; rest is the part from the current word on, which has len characters.
-- part counts words since a hexadecimal one with dashes between them; it is below 0 after a dash.
word AS (
  SELECT range_name, count(*) AS n, 0 AS part, range_name AS rest
  , max(1, length(range_name) - length(ltrim(range_name
    , '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'))) AS len
  , '' AS mask
  FROM told
  WHERE range_name GLOB '*[0-9]*'
  GROUP BY range_name
  UNION ALL
  SELECT range_name, n, CASE
      WHEN rest GLOB '-*' AND part > 0 THEN -part
      WHEN substr(rest, 1, len) GLOB '*[^0-9a-fA-F]*' THEN 0
      WHEN len >= 6 THEN substr(rest, 1, len) GLOB '*[0-9]*'
      WHEN len >= 4 AND part BETWEEN -4 AND -1 THEN 1 - part
      ELSE 0
    END
  , substr(rest, len + 1)
  , max(1, length(substr(rest, len + 1)) - length(ltrim(substr(rest, len + 1)
    , '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz')))
  , mask || CASE
      WHEN (len >= 6 AND substr(rest, 1, len) GLOB '*[0-9]*'
          OR len IN (4, 5) AND part BETWEEN -4 AND -1)
        AND substr(rest, 1, len) NOT GLOB '*[^0-9a-fA-F]*' THEN '#' -- a hexadecimal number
      WHEN len > 2 AND rest GLOB '0[xX]*'
        AND substr(rest, 3, len - 2) NOT GLOB '*[^0-9a-fA-F]*' THEN '#'
      ELSE substr(rest, 1, len)
    END
  FROM word
  WHERE rest <> ''
),
masked AS ( -- each run of digits becomes one "#"
  SELECT range_name, n
  , replace(replace(replace(replace(replace(replace(
      replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
        mask, '0', '#'), '1', '#'), '2', '#'), '3', '#'), '4', '#')
      , '5', '#'), '6', '#'), '7', '#'), '8', '#'), '9', '#')
    , '##', '#'), '##', '#'), '##', '#'), '##', '#'), '##', '#'), '##', '#') AS mask
  FROM word
  WHERE rest = ''
),
-- Masks that several names share and that replace these names: a number follows "=" or "(",
-- or there are eight names or more with fewer than two ranges each.
merged AS (
  SELECT mask
  FROM masked
  GROUP BY mask
  HAVING count(*) > 1
    AND (max(range_name GLOB '*[=(][0-9]*') OR count(*) >= 8 AND sum(n) < 2 * count(*))
)
SELECT
  r.rid
, r.start_ns
, COALESCE(r.end_ns, max(r.start_ns, e.end_ns)) AS end_ns
, r.end_ns IS NULL AS is_open
, CASE WHEN r.event_type IN (59, 70) THEN 'stack' ELSE 'async' END AS kind
, r.thread_key
, r.thread_key & ~0xFFFFFF AS process_key
, r.thread_key >> 24 & 0xFFFFFF AS pid
, r.domain_id
, r.is_library
, r.range_name
, COALESCE(g.mask, r.range_name) AS label
FROM told AS r
LEFT JOIN masked AS m ON m.range_name = r.range_name
LEFT JOIN merged AS g ON g.mask = m.mask
CROSS JOIN _trace_end AS e
