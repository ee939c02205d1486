explain @graph_seldom_replayed --pass findings,iterations --md
