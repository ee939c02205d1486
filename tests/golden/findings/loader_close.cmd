explain @loader_close --pass findings --md
