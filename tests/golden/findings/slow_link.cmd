explain @slow_link --pass findings --md
