explain @slow_replays_seldom --pass findings --md
