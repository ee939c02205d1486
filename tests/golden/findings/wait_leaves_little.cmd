explain @wait_leaves_little --pass findings --md
