explain @case02_runtime_only --pass iterations --json
