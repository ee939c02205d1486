explain @throttled_few --pass findings --md
