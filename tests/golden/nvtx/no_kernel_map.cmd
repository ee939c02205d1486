explain @iterations_nvtx --pass nvtx,nvtx_kernel_time,nvtx_by_pid --md --no-nvtx-kernel-map
