explain @ranges_numbered --pass nvtx,nvtx_kernel_time,nvtx_by_pid --md
