explain @start_up --pass findings --md
