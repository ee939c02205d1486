explain @python_stacks --pass gpu_idle,findings --md
