-- Calls that launch kernels or graphs. cudaLaunchHostFunc is no launch, because it runs host code.
SELECT *
FROM _call
WHERE (
    api_base GLOB 'cuLaunch*' OR api_base GLOB 'cudaLaunch*'
    OR api_base GLOB 'cuGraphLaunch*' OR api_base GLOB 'cudaGraphLaunch*'
    OR api_base IN ('cuDeviceGraphLaunch', 'cudaDeviceGraphLaunch')
  )
  AND api_base NOT GLOB 'cuLaunchHostFunc*'
  AND api_base NOT GLOB 'cudaLaunchHostFunc*'
