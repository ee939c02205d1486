explain @overlap_partition --pass nccl --json
