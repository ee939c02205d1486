explain @two_rank_straggler --brief --pass windows
