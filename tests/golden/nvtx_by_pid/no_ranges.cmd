explain @case01_kernels_only --pass nvtx_by_pid --json
