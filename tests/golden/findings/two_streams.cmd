explain @two_streams --pass findings --md
