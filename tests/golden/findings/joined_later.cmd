explain @joined_later --pass findings --md
