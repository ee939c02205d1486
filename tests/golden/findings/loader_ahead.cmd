explain @loader_ahead --pass findings --md
