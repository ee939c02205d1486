explain @same_corr_two_procs --pass nvtx_by_pid --json
