explain @same_kernel_beside --pass findings --md
