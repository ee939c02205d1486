explain @case02_runtime_only --pass copies --json
