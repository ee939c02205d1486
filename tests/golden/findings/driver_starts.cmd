explain @driver_starts --pass findings --md
