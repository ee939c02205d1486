explain @zero_inverted_open --pass nvtx_start_end --json
