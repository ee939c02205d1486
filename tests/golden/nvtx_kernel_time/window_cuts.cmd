explain @two_rank_straggler --pass nvtx_kernel_time --json --window 0..0.001
