explain @graph_not_replayed --pass findings --md
