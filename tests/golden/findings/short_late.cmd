explain @short_late --pass findings --md
