explain @staged_copies --pass findings --md
