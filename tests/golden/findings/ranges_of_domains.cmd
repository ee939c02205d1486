explain @ranges_of_domains --pass findings --md
