explain @backward_by_other --pass nvtx --md
