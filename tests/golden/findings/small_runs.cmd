explain @small_runs --pass findings --md
