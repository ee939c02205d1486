explain @memory_pairs --pass memory_usage --json
