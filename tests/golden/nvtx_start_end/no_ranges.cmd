explain @one_kernel --pass nvtx_start_end --json
