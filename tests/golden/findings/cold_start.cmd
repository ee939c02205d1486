explain @cold_start --pass findings --md
