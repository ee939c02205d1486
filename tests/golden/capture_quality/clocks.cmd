explain @clock_skew --pass capture_quality,launch_storm --md
