explain @two_rank_straggler --out o
