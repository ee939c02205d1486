explain @occupancy --pass kernel_shape --json
