explain @short_nodes --pass findings --md
