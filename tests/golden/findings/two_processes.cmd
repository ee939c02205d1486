explain @two_processes --pass findings --md
