explain @case02_runtime_only --pass top_kernels --json
