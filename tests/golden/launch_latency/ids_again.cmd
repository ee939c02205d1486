explain @ids_again --pass launch_latency,nvtx_kernel_time --md
