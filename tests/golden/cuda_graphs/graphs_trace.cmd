explain @graphs_trace --pass cuda_graphs --json
