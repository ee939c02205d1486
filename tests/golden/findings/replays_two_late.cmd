explain @replays_two_late --pass findings --md
