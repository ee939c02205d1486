explain @last_kernel_long --pass findings --md
