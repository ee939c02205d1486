explain @synthetic --pass kernel_shape --json
