explain @two_slow_gpus --pass findings --md
