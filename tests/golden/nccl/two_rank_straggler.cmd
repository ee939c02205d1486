explain @two_rank_straggler --pass nccl --json
