explain @nccl_three_ranks --pass nccl --json
