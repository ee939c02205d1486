explain @module_load_stall --pass gpu_idle --json
