explain @graph_late_rank --pass findings --md
