explain @last_blocks --pass findings --md
