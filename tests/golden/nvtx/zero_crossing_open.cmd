explain @zero_inverted_open --pass nvtx --md
