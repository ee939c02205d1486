explain @throttled_short --pass findings --md
