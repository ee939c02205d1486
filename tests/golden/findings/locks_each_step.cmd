explain @locks_each_step --pass findings --md
