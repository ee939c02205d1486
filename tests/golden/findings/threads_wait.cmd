explain @threads_wait --pass findings --md
