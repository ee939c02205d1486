explain @start_skew --pass nccl --json
