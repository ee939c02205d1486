explain @sampled_in_part --pass gpu_metrics --md
