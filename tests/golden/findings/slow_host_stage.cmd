explain @slow_host_stage --pass findings --md
