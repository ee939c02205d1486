explain @sched --pass cpu_threads --json
