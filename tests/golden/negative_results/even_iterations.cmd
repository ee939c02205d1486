explain @two_rank_straggler --pass negative_results,iterations --md
