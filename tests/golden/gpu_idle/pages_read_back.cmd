explain @pages_read_back --pass gpu_idle --json
