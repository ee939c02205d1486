explain @profiler_cost --pass profiler_cost --json
