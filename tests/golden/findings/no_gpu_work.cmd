explain @case02_runtime_only --pass findings --json
