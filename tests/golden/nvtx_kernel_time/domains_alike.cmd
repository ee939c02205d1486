explain @domains_alike --pass nvtx_kernel_time --md
