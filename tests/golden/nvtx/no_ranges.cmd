explain @case01_kernels_only --pass nvtx --json
