explain @waits_hidden --pass findings --md
