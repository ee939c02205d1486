explain @throttled --pass findings --md
