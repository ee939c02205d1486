explain @hosts_sampled --pass memory_usage,gpu_metrics,copies --md
