explain @zero_inverted_open --pass nvtx_by_pid --json
