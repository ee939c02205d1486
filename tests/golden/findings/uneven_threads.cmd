explain @uneven_threads --pass findings --md
