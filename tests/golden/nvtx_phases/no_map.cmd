explain @iterations_nvtx --pass nvtx_phases,nvtx_kernel_phases,nvtx_kernel_phases_by_pid --json
