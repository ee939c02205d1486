explain @synthetic --pass gpu_idle --json
