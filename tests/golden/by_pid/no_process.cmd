explain @case01_kernels_only --pass by_pid --json
