explain @case02_runtime_only --pass critical_path --json
