explain @clock_skew --pass gpu_idle --window 0.0055..0.0065 --md
