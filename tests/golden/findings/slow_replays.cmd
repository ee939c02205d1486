explain @slow_replays --pass findings --md
