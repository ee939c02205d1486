explain @two_pairs --pass nccl,findings --md
