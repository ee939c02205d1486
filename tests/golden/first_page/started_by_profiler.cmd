explain @started_by_profiler --out o
