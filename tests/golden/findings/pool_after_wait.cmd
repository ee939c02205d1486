explain @pool_after_wait --pass findings --md
