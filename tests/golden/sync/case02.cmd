explain @case02_runtime_only --pass sync --json
