-- Each kernel with the call that launched it and the innermost NVTX range open on the
-- calling thread when that call begins. Ranges of the user's domains go before those of
-- libraries. The columns are NULL without a call, or outside of ranges.
SELECT
  k.rid
, k.process_key
, k.pid
, k.end_ns - k.start_ns AS ns
, c.rid AS call_rid
, r.range_rid
, r.range_name
, r.label
FROM _kernel AS k
LEFT JOIN _host_call AS c ON c.process_key = k.process_key AND c.corr = k.corr
  AND k.start_ns >= c.since_ns AND k.start_ns < c.until_ns
LEFT JOIN _call_range AS r ON r.call_rid = c.rid
