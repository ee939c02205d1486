explain @two_rank_straggler --pass windows --md
