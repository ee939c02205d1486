explain @graphs_node_2023 --pass cuda_graphs --json
