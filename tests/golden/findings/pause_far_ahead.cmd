explain @pause_far_ahead --pass findings --md
