explain @ahead_of_launches --pass findings --md
