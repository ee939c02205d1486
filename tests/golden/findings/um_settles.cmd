explain @um_settles --pass findings --md
