explain @kin_kernels --pass findings --md
