explain @copy_bound --pass gpu_idle --json
