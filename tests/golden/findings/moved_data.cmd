explain @moved_data --pass findings --md
