-- API calls in which the host waits for a stream, a device, a context or an event.
-- cudaStreamWaitEvent and the queries are left out because they do not block. The first test
-- is there for speed: it drops most rows cheaply.
SELECT *
FROM _call
WHERE api_name GLOB 'cu*Synchronize*'
  AND (
    api_base GLOB 'cuCtxSynchronize*'
    OR api_base GLOB 'cudaCtxSynchronize*'
    OR replace(api_base, 'cuda', 'cu') IN (
        'cuStreamSynchronize', 'cuDeviceSynchronize', 'cuEventSynchronize',
        'cuThreadSynchronize')
  )
