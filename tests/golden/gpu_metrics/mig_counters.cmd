explain @mig_counters --pass gpu_metrics --json
