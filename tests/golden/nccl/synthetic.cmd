explain @synthetic --pass nccl --md
