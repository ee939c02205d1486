explain @two_kinds --pass findings --md
