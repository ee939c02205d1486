explain @memory_usage --pass memory_usage --json
