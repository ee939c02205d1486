explain @small_updates --pass findings --md
