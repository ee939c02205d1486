explain @um_faults --pass memory_usage --json
