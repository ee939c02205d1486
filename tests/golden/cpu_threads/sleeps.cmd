explain @sleeps_alone --pass cpu_threads --json
