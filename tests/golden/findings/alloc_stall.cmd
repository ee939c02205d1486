explain @alloc_stall --pass memory_usage,gpu_idle,findings --md
