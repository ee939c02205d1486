explain @sampled_on_one --pass gpu_metrics --md
