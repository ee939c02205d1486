explain @two_rank_straggler --pass nccl,critical_path,iterations,findings,negative_results --md
