explain @synthetic --pass top_kernels --json
