explain @case02_runtime_only --pass gpu_idle --json
