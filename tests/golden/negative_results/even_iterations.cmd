explain @two_rank_straggler --pass iterations,negative_results --json
