explain @case02_runtime_only --pass barriers --json
