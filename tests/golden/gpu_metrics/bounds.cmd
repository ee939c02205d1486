explain @gpu_bound --pass gpu_metrics --json
