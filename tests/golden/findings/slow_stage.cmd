explain @slow_stage --pass findings --md
