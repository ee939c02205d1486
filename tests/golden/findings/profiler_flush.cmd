explain @profiler_flush --pass findings --md
