-- Each kernel with the call that launched it and the innermost range open on the
-- calling thread where that call begins: of the user's domains, else of a
-- library's. Without a call, or outside of ranges, these are NULL.
WITH
host_call AS ( -- of the calls with one id the one around the others
  SELECT *
  FROM (
    SELECT
      process_key
    , corr
    , rid
    , start_ns
    , thread_key
    , row_number() OVER (
        PARTITION BY process_key, corr ORDER BY start_ns, end_ns DESC, rid
      ) AS nth
    FROM _call
    WHERE corr BETWEEN 1 AND 4294967294
  )
  WHERE nth = 1
),
stack AS MATERIALIZED (
  SELECT * FROM _range WHERE kind = 'stack'
),
launched AS MATERIALIZED (
  SELECT
    k.rid
  , k.process_key
  , k.pid
  , k.end_ns - k.start_ns AS ns
  , c.rid AS call_rid
  , (
      SELECT r.rid
      FROM stack AS r
      WHERE r.thread_key = c.thread_key
        AND r.start_ns <= c.start_ns
        AND (r.end_ns > c.start_ns OR r.is_open)
      ORDER BY r.is_library, r.start_ns DESC, r.end_ns, r.domain_id DESC
      , r.range_name DESC
      LIMIT 1
    ) AS range_rid
  FROM _kernel AS k
  LEFT JOIN host_call AS c
    ON c.process_key = k.process_key AND c.corr = k.corr
)
SELECT l.*, r.range_name
FROM launched AS l
LEFT JOIN stack AS r ON r.rid = l.range_rid
