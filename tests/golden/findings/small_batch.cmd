explain @small_batch --pass findings --md
