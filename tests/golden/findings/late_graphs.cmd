explain @late_graphs --pass findings --md
