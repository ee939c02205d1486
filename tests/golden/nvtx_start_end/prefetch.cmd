explain @nvtx_domains --pass nvtx_start_end --md
