explain @times_impossible --pass os_runtime,memory_usage --json
