explain @late_by_little --pass findings --md
