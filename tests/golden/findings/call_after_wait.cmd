explain @call_after_wait --pass findings --md
