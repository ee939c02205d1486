explain @case02_runtime_only --pass judged_time --json
