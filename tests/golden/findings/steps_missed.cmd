explain @steps_missed --pass memory_usage,gpu_idle,findings --md
