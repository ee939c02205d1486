explain @pause_before_wait --pass findings --md
