explain @throttled_on --pass findings --md
