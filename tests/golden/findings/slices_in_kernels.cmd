explain @slices_in_kernels --pass findings --md
