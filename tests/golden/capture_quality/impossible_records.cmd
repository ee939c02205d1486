explain @impossible_records --pass capture_quality,gpu_idle,top_kernels --md
