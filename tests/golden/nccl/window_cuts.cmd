explain @two_rank_straggler --pass nccl --window 1600000ns..4750000ns --json
