explain @throttled_turns --pass findings --md
