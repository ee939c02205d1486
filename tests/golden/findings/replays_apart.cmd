explain @replays_apart --pass findings --md
