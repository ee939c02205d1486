explain @hostile_types --pass gpu_metrics --json
