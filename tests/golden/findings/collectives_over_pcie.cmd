explain @nccl_over_pcie --pass findings --md
