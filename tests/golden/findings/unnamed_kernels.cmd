explain @unnamed_kernels --pass findings --md
