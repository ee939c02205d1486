explain @gpu_metrics_odd --pass gpu_metrics --json
