explain @case02_runtime_only --pass kernel_families --json
