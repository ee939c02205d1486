explain @visible_memory --pass memory_usage,gpu_metrics --md
