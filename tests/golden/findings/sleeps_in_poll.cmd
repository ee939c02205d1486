explain @sleeps_in_poll --pass findings --md
