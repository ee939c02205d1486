-- API calls in which the host waits for a stream, a device, a context or an
-- event. (cudaStreamWaitEvent and the queries do not block.)
SELECT *
FROM _call
WHERE api_base GLOB 'cuCtxSynchronize*'
   OR api_base GLOB 'cudaCtxSynchronize*'
   OR (
     (api_base GLOB 'cuda*' OR api_base GLOB 'cu*')
     AND substr(api_base, CASE WHEN api_base GLOB 'cuda*' THEN 5 ELSE 3 END)
       IN ('StreamSynchronize', 'DeviceSynchronize', 'EventSynchronize',
           'ThreadSynchronize')
   )
