explain @slow_link_of_ring --pass findings --md
