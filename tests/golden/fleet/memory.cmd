fleet @memory_usage --json
