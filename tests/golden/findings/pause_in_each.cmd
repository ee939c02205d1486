explain @pause_in_each --pass findings --md
