explain @synthetic --pass dimensions,gpu_idle,top_kernels --json
