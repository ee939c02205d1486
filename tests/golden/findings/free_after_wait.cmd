explain @free_after_wait --pass findings --md
