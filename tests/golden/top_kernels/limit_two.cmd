explain @kernel_names --pass top_kernels --kernel-limit 2 --json
