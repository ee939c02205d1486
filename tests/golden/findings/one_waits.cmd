explain @one_waits --pass findings --md
