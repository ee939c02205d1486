explain @loads_lately --pass findings --md
