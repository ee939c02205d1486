explain @memory_full --pass memory_usage --md
