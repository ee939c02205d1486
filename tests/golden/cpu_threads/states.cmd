explain @sched_states --pass cpu_threads --json
