explain @synthetic --pass kernel_families --json
