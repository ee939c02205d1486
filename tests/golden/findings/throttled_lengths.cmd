explain @throttled_lengths --pass findings --md
