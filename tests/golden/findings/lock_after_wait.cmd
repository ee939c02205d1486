explain @lock_after_wait --pass findings --md
