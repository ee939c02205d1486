explain @copies_wait --pass findings --md
