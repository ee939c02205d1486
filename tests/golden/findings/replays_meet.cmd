explain @replays_meet --pass findings --md
