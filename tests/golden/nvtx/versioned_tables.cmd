explain @versioned_tables --pass nvtx,nvtx_kernel_time --md
