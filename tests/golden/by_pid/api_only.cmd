explain @case02_runtime_only --pass by_pid --json
