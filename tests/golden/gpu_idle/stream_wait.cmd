explain @stream_wait --pass gpu_idle --md
