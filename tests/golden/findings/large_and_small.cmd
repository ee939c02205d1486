explain @large_and_small --pass findings --md
