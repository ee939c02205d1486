explain @ties --pass gpu_idle --json
