explain @case02_runtime_only --pass partition --json
