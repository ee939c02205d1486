explain @throttled_saves --pass findings --md
