explain @sched --pass cpu_threads --json --window 900000ns..2100000ns
