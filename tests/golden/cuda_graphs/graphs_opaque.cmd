explain @graphs_opaque --pass cuda_graphs --json
