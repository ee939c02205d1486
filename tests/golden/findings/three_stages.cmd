explain @three_stages --pass findings --md
