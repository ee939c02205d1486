explain @window_reach --window 2s..2.1s --reach 0.1 --pass windows,capture_quality,top_kernels,sync --md
