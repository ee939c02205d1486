explain @one_kernel --pass cuda_graphs --json
