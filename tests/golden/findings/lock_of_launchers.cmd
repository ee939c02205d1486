explain @lock_of_launchers --pass findings --md
