explain @loads_again --pass findings --md
