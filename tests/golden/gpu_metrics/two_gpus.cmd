explain @gpu_metrics --pass gpu_metrics --json
