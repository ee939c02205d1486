explain @host_queue_full --pass findings --md
