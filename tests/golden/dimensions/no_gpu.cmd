explain @case02_runtime_only --pass dimensions --json
