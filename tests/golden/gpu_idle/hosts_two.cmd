explain @hosts_two --pass gpu_idle,top_kernels --md
