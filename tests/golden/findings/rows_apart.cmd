explain @rows_apart --pass findings --md
