explain @switch_interval --pass findings --md
