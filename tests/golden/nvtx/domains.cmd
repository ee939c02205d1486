explain @nvtx_domains --pass nvtx --md
