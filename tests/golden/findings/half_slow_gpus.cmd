explain @half_slow_gpus --pass findings --md
