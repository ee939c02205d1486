explain @poll_loop --pass findings --md
