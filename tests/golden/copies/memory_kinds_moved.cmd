explain @memory_kinds_moved --pass findings,copies,memory_usage,capture_quality --md
