explain @compiles_in_child --pass findings --md
