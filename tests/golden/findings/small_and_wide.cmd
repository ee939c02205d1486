explain @small_and_wide --pass findings --md
