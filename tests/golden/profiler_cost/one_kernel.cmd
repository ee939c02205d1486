explain @one_kernel --pass profiler_cost --json
