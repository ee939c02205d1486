explain @memory_usage --pass memory_usage --json --window 4000000ns..6000000ns
