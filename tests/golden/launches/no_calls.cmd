explain @case01_kernels_only --pass launches --json
