explain @case01_kernels_only --pass schema --json
