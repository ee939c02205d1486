explain @graphs_node --pass top_kernels --out o
