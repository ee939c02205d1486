explain @case01_kernels_only --pass what_if --json
