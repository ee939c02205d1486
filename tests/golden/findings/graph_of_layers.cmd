explain @graph_of_layers --pass findings,iterations --md
