explain @ties --pass nvtx --md
