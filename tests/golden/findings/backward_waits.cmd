explain @backward_waits --pass findings --md
