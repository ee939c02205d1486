explain @case04_nvtx_on_one_pid --pass nvtx_kernel_time,nvtx_coverage_warn_threshold --md
