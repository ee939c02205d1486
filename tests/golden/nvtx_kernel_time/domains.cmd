explain @nvtx_domains --pass nvtx_kernel_time --md
