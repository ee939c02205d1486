explain @loader_thread --pass findings --md
