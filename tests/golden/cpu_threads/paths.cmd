explain @sched_paths --pass cpu_threads --json
