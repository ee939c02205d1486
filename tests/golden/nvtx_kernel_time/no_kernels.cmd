explain @case02_runtime_only --pass nvtx_kernel_time --json
