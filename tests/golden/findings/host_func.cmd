explain @host_func --pass findings --md
