explain @synthetic --pass gpu_metrics --json
