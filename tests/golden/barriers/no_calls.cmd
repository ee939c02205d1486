explain @case01_kernels_only --pass barriers --json
