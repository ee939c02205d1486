explain @reads_in_turn --pass findings --md
