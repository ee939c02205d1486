explain @short_code --pass findings --md
