explain @gpu_shared --pass findings --md
