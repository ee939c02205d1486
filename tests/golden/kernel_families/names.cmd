explain @kernel_names --pass kernel_families,top_kernels --md
