explain @domains_alike --pass nvtx --md
