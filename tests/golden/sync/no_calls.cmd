explain @case01_kernels_only --pass sync --json
