explain @percent_beyond --pass gpu_metrics --md
