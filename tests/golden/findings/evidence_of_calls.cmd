explain @two_waits --pass findings --json
