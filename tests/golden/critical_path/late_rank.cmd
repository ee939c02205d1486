explain @two_rank_straggler --pass critical_path --json
