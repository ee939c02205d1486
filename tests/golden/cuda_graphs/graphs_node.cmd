explain @graphs_node --pass cuda_graphs --json
