explain @hot_expert --pass findings --md
