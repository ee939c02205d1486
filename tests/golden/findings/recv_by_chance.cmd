explain @recv_by_chance --pass findings --md
