explain @case02_runtime_only --pass launch_storm --json
