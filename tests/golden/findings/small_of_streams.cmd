explain @small_of_streams --pass findings --md
